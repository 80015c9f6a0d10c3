// libqrencode, loaded when the first code is drawn: a daemon never does, and its launch does not wait for the library.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Draws `text` with the error correction M: `modules` has width * width of them, row by row, 1 for a dark one. Returns the width; 0 with
// errno when it cannot be drawn (E2BIG: the code has more than `capacity` modules; ENOSYS: there is no libqrencode here).
size_t latch_qr_draw(const char *text, uint8_t *modules, size_t capacity);
