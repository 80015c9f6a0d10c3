#include "CQRencode.h"

#include <dlfcn.h>
#include <errno.h>
#include <qrencode.h>
#include <string.h>

size_t latch_qr_draw(const char *text, uint8_t *modules, size_t capacity) {
    // The name has the version of the interface that the header is of. It stays loaded until the process ends.
    void *library = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL);
    __typeof__(&QRcode_encodeString) encode = 0;
    __typeof__(&QRcode_free) release = 0;
    if (library) {
        encode = (__typeof__(encode))dlsym(library, "QRcode_encodeString");
        release = (__typeof__(release))dlsym(library, "QRcode_free");
    }
    if (!encode || !release) {
        errno = ENOSYS;
        return 0;
    }
    // The smallest version that the text fits, in the narrowest of the sets that have its characters.
    QRcode *code = encode(text, 0, QR_ECLEVEL_M, QR_MODE_8, 1);
    if (!code) return 0;
    size_t width = code->width, count = width * width;
    int fits = count <= capacity;
    for (size_t index = 0; fits && index < count; index++) modules[index] = code->data[index] & 1;
    // Whoever reads it reads the text.
    memset(code->data, 0, count);
    __asm__ volatile("" : : "r"(code->data) : "memory");
    release(code);
    if (fits) return width;
    errno = E2BIG;
    return 0;
}
