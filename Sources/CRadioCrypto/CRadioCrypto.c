#include "CRadioCrypto.h"
#include <openssl/evp.h>

int latch_radio_aes128(const uint8_t key[16], const uint8_t plaintext[16], uint8_t ciphertext[16]) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (!context) return 0;
    int length = 0;
    int done = EVP_EncryptInit_ex2(context, EVP_aes_128_ecb(), key, 0, 0) == 1 &&
               EVP_CIPHER_CTX_set_padding(context, 0) == 1 &&
               EVP_EncryptUpdate(context, ciphertext, &length, plaintext, 16) == 1 && length == 16;
    EVP_CIPHER_CTX_free(context);
    return done;
}
