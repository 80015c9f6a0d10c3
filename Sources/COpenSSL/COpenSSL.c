#include "COpenSSL.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <string.h>

// Algorithms are fetched once: fetching costs more than a MAC does.
static struct {
    EVP_MAC *cmac;
    EVP_MD *sha256;
    EVP_KDF *hkdf;
    EVP_CIPHER *ecb, *ccm, *gcm;
} algorithms;

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fetch(void) {
    algorithms.cmac = EVP_MAC_fetch(NULL, "CMAC", NULL);
    algorithms.sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    algorithms.hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    algorithms.ecb = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
    algorithms.ccm = EVP_CIPHER_fetch(NULL, "AES-128-CCM", NULL);
    algorithms.gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
}

// Nothing of the rest is used here: algorithms are fetched from their provider by its own names for them, and that a call failed
// is all that is said of an error. The tables of OpenSSL's older names and of its error texts are a third of its start.
int latch_openssl_prepare(void) {
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS
                                   | OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS,
                               NULL);
}

// MARK: Octets

uint8_t *latch_secret_allocate(size_t count) { return OPENSSL_malloc(count ? count : 1); }
void latch_secret_free(uint8_t *bytes, size_t count) { OPENSSL_clear_free(bytes, count); }
void latch_cleanse(void *bytes, size_t count) { OPENSSL_cleanse(bytes, count); }

int latch_equal(const uint8_t *a, const uint8_t *b, size_t count) {
    return count == 0 || CRYPTO_memcmp(a, b, count) == 0;
}

int latch_random(uint8_t *bytes, size_t count) {
    if (count > INT32_MAX) return 0;
    return RAND_bytes(bytes, (int)count) == 1;
}

int latch_sha256(const uint8_t *message, size_t count, uint8_t digest[32]) {
    pthread_once(&once, fetch);
    if (!algorithms.sha256) return 0;
    return EVP_Digest(message, count, digest, NULL, algorithms.sha256, NULL) == 1;
}

int latch_hkdf_sha256(latch_octets secret, latch_octets salt, latch_octets info, uint8_t *key, size_t count) {
    pthread_once(&once, fetch);
    EVP_KDF_CTX *context = algorithms.hkdf ? EVP_KDF_CTX_new(algorithms.hkdf) : NULL;
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret.bytes, secret.count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt.bytes, salt.count),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info.bytes, info.count),
        OSSL_PARAM_construct_end(),
    };
    int done = context && EVP_KDF_derive(context, key, count, params) == 1;
    EVP_KDF_CTX_free(context);
    return done;
}

// MARK: AES-CMAC

latch_cmac *latch_cmac_new(const uint8_t key[16]) {
    pthread_once(&once, fetch);
    if (!algorithms.cmac) return NULL;
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(algorithms.cmac);
    if (!context) return NULL;
    char cipher[] = "AES-128-CBC";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
        OSSL_PARAM_construct_end(),
    };
    if (EVP_MAC_init(context, key, 16, params) == 1) return context;
    EVP_MAC_CTX_free(context);
    return NULL;
}

int latch_cmac_compute(latch_cmac *context, const uint8_t *message, size_t count, uint8_t mac[16]) {
    size_t written = 0;
    // No key and no parameters: start again with the key that is set.
    return EVP_MAC_init(context, NULL, 0, NULL) == 1
        && (count == 0 || EVP_MAC_update(context, message, count) == 1)
        && EVP_MAC_final(context, mac, &written, 16) == 1
        && written == 16;
}

void latch_cmac_free(latch_cmac *context) { EVP_MAC_CTX_free(context); }

// MARK: AES-128

latch_aes128 *latch_aes128_new(const uint8_t key[16]) {
    pthread_once(&once, fetch);
    if (!algorithms.ecb) return NULL;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (!context) return NULL;
    if (EVP_EncryptInit_ex2(context, algorithms.ecb, key, NULL, NULL) == 1
        && EVP_CIPHER_CTX_set_padding(context, 0) == 1)
        return context;
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

int latch_aes128_encrypt(latch_aes128 *context, const uint8_t block[16], uint8_t result[16]) {
    int written = 0;
    return EVP_EncryptUpdate(context, result, &written, block, 16) == 1 && written == 16;
}

int latch_aes128_rekey(latch_aes128 *context, const uint8_t key[16]) {
    return EVP_EncryptInit_ex2(context, NULL, key, NULL, NULL) == 1;
}

void latch_aes128_free(latch_aes128 *context) { EVP_CIPHER_CTX_free(context); }

// A context is two allocations of some 640 octets in all, made one after the other and so, as a rule, side by side. Many do
// not fit a processor's own cache, and fetching them costs as much as using them: it is asked for some keys ahead. Where they
// lie elsewhere a prefetch is in vain, and harms nothing.
enum { PREFETCH_KEYS_AHEAD = 4, CONTEXT_OCTETS = 640, CACHE_LINE_OCTETS = 64 };

static void prefetch(const latch_aes128 *context) {
    for (size_t offset = 0; offset <= CONTEXT_OCTETS; offset += CACHE_LINE_OCTETS)
        __builtin_prefetch((const void *)((uintptr_t)context + offset));
}

size_t latch_aes128_find(latch_aes128 *const *contexts, size_t count, size_t start, const uint8_t block[16],
                         const uint8_t tail[3]) {
    uint8_t result[16];
    for (size_t index = start; index < count; index++) {
        if (PREFETCH_KEYS_AHEAD < count - index) prefetch(contexts[index + PREFETCH_KEYS_AHEAD]);
        if (latch_aes128_encrypt(contexts[index], block, result) && memcmp(result + 13, tail, 3) == 0) return index;
    }
    return count;
}

// MARK: Authenticated encryption

static EVP_CIPHER *aead_cipher(latch_aead kind) {
    pthread_once(&once, fetch);
    return kind == LATCH_AES128_CCM ? algorithms.ccm : algorithms.gcm;
}

// CCM has to hear the message's length before the associated data.
static int aead_prelude(EVP_CIPHER_CTX *context, latch_aead kind, latch_octets authenticated, size_t message_count) {
    int written = 0;
    if (authenticated.count > INT32_MAX || message_count > INT32_MAX) return 0;
    if (kind == LATCH_AES128_CCM && EVP_CipherUpdate(context, NULL, &written, NULL, (int)message_count) != 1) return 0;
    return authenticated.count == 0
        || EVP_CipherUpdate(context, NULL, &written, authenticated.bytes, (int)authenticated.count) == 1;
}

static const uint8_t nothing[1];

// CCM and GCM want a pointer even for an empty message.
static const uint8_t *readable(latch_octets octets) { return octets.count ? octets.bytes : nothing; }

int latch_aead_seal(latch_aead kind, const uint8_t *key, latch_octets nonce, latch_octets authenticated,
                    latch_octets message, uint8_t *sealed, uint8_t *tag, size_t tag_count) {
    EVP_CIPHER *cipher = aead_cipher(kind);
    EVP_CIPHER_CTX *context = cipher ? EVP_CIPHER_CTX_new() : NULL;
    if (!context) return 0;
    int written = 0, last = 0;
    uint8_t scratch[16];
    uint8_t *output = message.count ? sealed : scratch;
    int done = EVP_EncryptInit_ex2(context, cipher, NULL, NULL, NULL) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)nonce.count, NULL) == 1
        && (kind != LATCH_AES128_CCM
            || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)tag_count, NULL) == 1)
        && EVP_EncryptInit_ex2(context, NULL, key, nonce.bytes, NULL) == 1
        && aead_prelude(context, kind, authenticated, message.count)
        && EVP_EncryptUpdate(context, output, &written, readable(message), (int)message.count) == 1
        && EVP_EncryptFinal_ex(context, output + written, &last) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)tag_count, tag) == 1;
    EVP_CIPHER_CTX_free(context);
    return done;
}

int latch_aead_open(latch_aead kind, const uint8_t *key, latch_octets nonce, latch_octets authenticated,
                    latch_octets sealed, const uint8_t *tag, size_t tag_count, uint8_t *opened) {
    EVP_CIPHER *cipher = aead_cipher(kind);
    EVP_CIPHER_CTX *context = cipher ? EVP_CIPHER_CTX_new() : NULL;
    if (!context) return 0;
    int written = 0, last = 0;
    uint8_t scratch[16];
    uint8_t *output = sealed.count ? opened : scratch;
    int done = EVP_DecryptInit_ex2(context, cipher, NULL, NULL, NULL) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)nonce.count, NULL) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)tag_count, (void *)tag) == 1
        && EVP_DecryptInit_ex2(context, NULL, key, nonce.bytes, NULL) == 1
        && aead_prelude(context, kind, authenticated, sealed.count)
        // CCM checks its tag here, GCM in the final step.
        && EVP_DecryptUpdate(context, output, &written, readable(sealed), (int)sealed.count) == 1
        && (kind == LATCH_AES128_CCM || EVP_DecryptFinal_ex(context, output + written, &last) == 1);
    EVP_CIPHER_CTX_free(context);
    if (!done) OPENSSL_cleanse(opened, sealed.count);
    return done;
}

// MARK: P-256

static char group_name[] = "P-256";

// A key from octets; `scalar` is NULL for a public key.
static EVP_PKEY *p256_key(const uint8_t *scalar, const uint8_t xy[64]) {
    EVP_PKEY *key = NULL;
    uint8_t point[65] = {POINT_CONVERSION_UNCOMPRESSED};
    memcpy(point + 1, xy, 64);
    // OSSL_PARAM integers are in the machine's own order.
    uint8_t native[32] = {0};
    BIGNUM *number = scalar ? BN_bin2bn(scalar, 32, NULL) : NULL;
    int ready = !scalar || (number && BN_bn2nativepad(number, native, 32) == 32);
    OSSL_PARAM params[4] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group_name, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, sizeof point),
        scalar ? OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, native, sizeof native) : OSSL_PARAM_construct_end(),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY_CTX *context = ready ? EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL) : NULL;
    if (context && EVP_PKEY_fromdata_init(context) == 1
        && EVP_PKEY_fromdata(context, &key, scalar ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    BN_clear_free(number);
    OPENSSL_cleanse(native, sizeof native);
    return key;
}

static int p256_check(EVP_PKEY *key) {
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int valid = context && EVP_PKEY_public_check(context) == 1;
    EVP_PKEY_CTX_free(context);
    return valid;
}

int latch_p256_is_valid(const uint8_t xy[64]) {
    EVP_PKEY *key = p256_key(NULL, xy);
    int valid = key && p256_check(key);
    EVP_PKEY_free(key);
    return valid;
}

int latch_p256_public(const uint8_t scalar[32], uint8_t xy[64]) {
    EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    EC_POINT *point = group ? EC_POINT_new(group) : NULL;
    BIGNUM *number = BN_bin2bn(scalar, 32, NULL);
    uint8_t encoded[65];
    int done = group && point && number && !BN_is_zero(number)
        && BN_cmp(number, EC_GROUP_get0_order(group)) < 0;
    if (done) {
        BN_set_flags(number, BN_FLG_CONSTTIME);
        done = EC_POINT_mul(group, point, number, NULL, NULL, NULL) == 1
            && EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, encoded, sizeof encoded, NULL) == 65;
    }
    if (done) memcpy(xy, encoded + 1, 64);
    BN_clear_free(number);
    EC_POINT_free(point);
    EC_GROUP_free(group);
    return done;
}

int latch_p256_generate(uint8_t scalar[32], uint8_t xy[64]) {
    EVP_PKEY *key = EVP_EC_gen(group_name);
    BIGNUM *number = NULL;
    int done = key && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1
        && BN_bn2binpad(number, scalar, 32) == 32 && latch_p256_public(scalar, xy);
    BN_clear_free(number);
    EVP_PKEY_free(key);
    return done;
}

int latch_p256_shared_x(const uint8_t scalar[32], const uint8_t xy[64], uint8_t shared[32]) {
    uint8_t own[64];
    if (!latch_p256_public(scalar, own)) return 0;
    EVP_PKEY *local = p256_key(scalar, own), *peer = p256_key(NULL, xy);
    EVP_PKEY_CTX *context = local && peer && p256_check(peer) ? EVP_PKEY_CTX_new_from_pkey(NULL, local, NULL) : NULL;
    size_t count = 32;
    int done = context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer) == 1
        && EVP_PKEY_derive(context, shared, &count) == 1 && count == 32;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(local);
    EVP_PKEY_free(peer);
    return done;
}

// MARK: Ed25519

latch_ed25519 *latch_ed25519_new(const uint8_t seed[32]) {
    return EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, seed, 32);
}

void latch_ed25519_free(latch_ed25519 *key) { EVP_PKEY_free(key); }

int latch_ed25519_public(const latch_ed25519 *key, uint8_t public_key[32]) {
    size_t count = 32;
    return EVP_PKEY_get_raw_public_key(key, public_key, &count) == 1 && count == 32;
}

int latch_ed25519_sign(latch_ed25519 *key, const uint8_t *message, size_t count, uint8_t signature[64]) {
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t length = 64;
    int done = context && EVP_DigestSignInit_ex(context, NULL, NULL, NULL, NULL, key, NULL) == 1
        && EVP_DigestSign(context, signature, &length, message, count) == 1 && length == 64;
    EVP_MD_CTX_free(context);
    return done;
}

int latch_ed25519_verify(const uint8_t public_key[32], const uint8_t *message, size_t count,
                         const uint8_t signature[64]) {
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, public_key, 32);
    EVP_MD_CTX *context = key ? EVP_MD_CTX_new() : NULL;
    int valid = context && EVP_DigestVerifyInit_ex(context, NULL, NULL, NULL, NULL, key, NULL) == 1
        && EVP_DigestVerify(context, signature, 64, message, count) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return valid;
}
