// OpenSSL 3 as Swift can use it. Every OSSL_PARAM is built in C: the constructors keep the pointer they are given, and
// the one Swift lends for a String dangles. Functions that can fail return 1 for success and 0 for failure.
#pragma once
#include <stddef.h>
#include <stdint.h>

// From now on OpenSSL reads no openssl.cnf and fills no tables of older names and error texts, in the whole process. Without
// effect on what it has read and filled already.
int latch_openssl_prepare(void);

// Memory for secrets: cleansed before it is freed.
uint8_t *latch_secret_allocate(size_t count);
void latch_secret_free(uint8_t *bytes, size_t count);
void latch_cleanse(void *bytes, size_t count);
// 1 when equal; takes the same time wherever the difference is.
int latch_equal(const uint8_t *a, const uint8_t *b, size_t count);
int latch_random(uint8_t *bytes, size_t count);

typedef struct {
    const uint8_t *bytes;
    size_t count;
} latch_octets;

// SHA-256 of one message.
int latch_sha256(const uint8_t *message, size_t count, uint8_t digest[32]);

// HKDF with SHA-256 (RFC 5869): `count` octets of key from a secret.
int latch_hkdf_sha256(latch_octets secret, latch_octets salt, latch_octets info, uint8_t *key, size_t count);

// AES-CMAC with a key set once. Contexts are not safe for concurrent use.
typedef struct evp_mac_ctx_st latch_cmac;
latch_cmac *latch_cmac_new(const uint8_t key[16]);
int latch_cmac_compute(latch_cmac *context, const uint8_t *message, size_t count, uint8_t mac[16]);
void latch_cmac_free(latch_cmac *context);

// One AES-128 block with a key set once. Contexts are not safe for concurrent use.
typedef struct evp_cipher_ctx_st latch_aes128;
latch_aes128 *latch_aes128_new(const uint8_t key[16]);
int latch_aes128_encrypt(latch_aes128 *context, const uint8_t block[16], uint8_t result[16]);
// Another key in the place of the one before; the cipher stays.
int latch_aes128_rekey(latch_aes128 *context, const uint8_t key[16]);
void latch_aes128_free(latch_aes128 *context);
// The first index >= start whose key encrypts `block` to something that ends in `tail` (the address hash), else count.
size_t latch_aes128_find(latch_aes128 *const *contexts, size_t count, size_t start, const uint8_t block[16],
                         const uint8_t tail[3]);

// Authenticated encryption of one message. `sealed` and `opened` have room for `count` octets.
typedef enum { LATCH_AES128_CCM, LATCH_AES256_GCM } latch_aead;
int latch_aead_seal(latch_aead kind, const uint8_t *key, latch_octets nonce, latch_octets authenticated,
                    latch_octets message, uint8_t *sealed, uint8_t *tag, size_t tag_count);
int latch_aead_open(latch_aead kind, const uint8_t *key, latch_octets nonce, latch_octets authenticated,
                    latch_octets sealed, const uint8_t *tag, size_t tag_count, uint8_t *opened);

// P-256. Scalars and coordinates are 32 octets, most significant first; `xy` is X then Y.
int latch_p256_generate(uint8_t scalar[32], uint8_t xy[64]);
// Fails for 0 and for anything not below the group's order.
int latch_p256_public(const uint8_t scalar[32], uint8_t xy[64]);
// 1 when the point is on the curve, in the group and not the identity.
int latch_p256_is_valid(const uint8_t xy[64]);
int latch_p256_shared_x(const uint8_t scalar[32], const uint8_t xy[64], uint8_t shared[32]);

// Ed25519, by RFC 8032: seeds and public keys have 32 octets, signatures 64. Contexts are not safe for concurrent use.
typedef struct evp_pkey_st latch_ed25519;
latch_ed25519 *latch_ed25519_new(const uint8_t seed[32]);
int latch_ed25519_public(const latch_ed25519 *key, uint8_t public_key[32]);
int latch_ed25519_sign(latch_ed25519 *key, const uint8_t *message, size_t count, uint8_t signature[64]);
void latch_ed25519_free(latch_ed25519 *key);
// 1 when the signature is this key's over the message.
int latch_ed25519_verify(const uint8_t public_key[32], const uint8_t *message, size_t count,
                         const uint8_t signature[64]);
