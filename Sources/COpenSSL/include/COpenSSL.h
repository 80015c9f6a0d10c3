// OpenSSL 3 as Swift can use it. Every OSSL_PARAM is built in C: the constructors keep the pointer they are given, and
// the one Swift lends for a String dangles.
#pragma once
#include <stddef.h>
#include <stdint.h>
