// What the virtual radio needs of libcrypto, apart from the host's so that the two share no mistake.
#pragma once
#include <stdint.h>

// One AES-128 block, most significant octet first. 1 on success.
int latch_radio_aes128(const uint8_t key[16], const uint8_t plaintext[16], uint8_t ciphertext[16]);
