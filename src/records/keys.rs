//! Ed25519 keys: signing records, and public keys with their ids (RFC 7638). Knows nothing of where keys are kept.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{Jwk, JwkSet, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header};
use serde_json::Value;

use super::checking::TYPE;
use super::{KeyError, Record, SignedRecord};

/// Bytes of a seed and of a public key.
const KEY_BYTES: usize = 32;

/// What stands before the seed in the DER form of a private key (RFC 8410).
const DER_HEAD: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The secret of a new key.
pub fn new_seed() -> [u8; KEY_BYTES] {
    rand::random()
}

/// A key that signs records.
pub struct SigningKey {
    encoding: EncodingKey,
    public: PublicKey,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.public.id()).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// The key that a seed makes.
    ///
    /// # Errors
    /// When it is none of 32 bytes.
    pub fn from_seed(seed: &[u8]) -> Result<SigningKey, KeyError> {
        let encoding = EncodingKey::from_ed_der(&[&DER_HEAD, seed].concat());
        let jwk = Jwk::from_encoding_key(&encoding, Algorithm::EdDSA)?;
        Ok(SigningKey { encoding, public: PublicKey::of(jwk)? })
    }

    /// The public half.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The record with a signature. Signing it again gives the same bytes.
    ///
    /// # Errors
    /// When the crypto back end refuses.
    pub fn sign(&self, record: Record) -> Result<SignedRecord, KeyError> {
        let header = Header {
            typ: Some(TYPE.to_owned()),
            kid: Some(self.public.id().to_owned()),
            jwk: Some(self.public.0.clone()),
            ..Header::new(Algorithm::EdDSA)
        };
        let jws = jsonwebtoken::encode(&header, &record, &self.encoding)?;
        Ok(SignedRecord { record, jws })
    }
}

/// A public key, named by its thumbprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Jwk);

impl PublicKey {
    fn of(mut jwk: Jwk) -> Result<PublicKey, KeyError> {
        jwk.common.key_id = Some(jwk.thumbprint(ThumbprintHash::SHA256)?);
        jwk.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(PublicKey(jwk))
    }

    /// The key whose 32 bytes are written in base64url.
    pub fn from_text(text: &str) -> Option<PublicKey> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == KEY_BYTES)?;
        let key = DecodingKey::from_ed_der(&bytes);
        PublicKey::of(Jwk::from_decoding_key(&key, Some(Algorithm::EdDSA)).ok()?).ok()
    }

    /// The key that a JWK holds; none if it holds another kind or more than a public one.
    pub(super) fn from_jwk(jwk: &Value) -> Option<PublicKey> {
        let is_ours = jwk["kty"] == "OKP" && jwk["crv"] == "Ed25519" && jwk.get("d").is_none();
        PublicKey::from_text(jwk["x"].as_str().filter(|_| is_ours)?)
    }

    /// Its thumbprint (RFC 7638).
    pub fn id(&self) -> &str {
        self.0.common.key_id.as_deref().unwrap_or_default()
    }

    /// Its bytes in base64url.
    pub fn text(&self) -> &str {
        match &self.0.algorithm {
            jsonwebtoken::jwk::AlgorithmParameters::OctetKeyPair(pair) => &pair.x,
            _ => "",
        }
    }

    /// Whether a signature, in base64url, is this key's of a message.
    pub(super) fn has_signed(&self, message: &str, signature: &str) -> bool {
        let key = DecodingKey::from_ed_components(self.text());
        let verified = key.and_then(|key| {
            jsonwebtoken::crypto::verify(signature, message.as_bytes(), &key, Algorithm::EdDSA)
        });
        verified.unwrap_or(false)
    }
}

/// Public keys as they stand at a server's well-known address (RFC 7517).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// The set of these keys.
    pub fn new(keys: Vec<PublicKey>) -> KeySet {
        KeySet(keys)
    }

    /// Reads a set; keys of other kinds are passed over. None where there is none of a kind that signs records.
    pub fn read(text: &[u8]) -> Option<KeySet> {
        let set: Value = serde_json::from_slice(text).ok()?;
        let keys: Vec<PublicKey> = set["keys"].as_array()?.iter().filter_map(PublicKey::from_jwk).collect();
        (!keys.is_empty()).then_some(KeySet(keys))
    }

    /// The set as JSON.
    pub fn to_json(&self) -> String {
        let set = JwkSet { keys: self.0.iter().map(|key| key.0.clone()).collect() };
        // Text cannot fail to be written.
        serde_json::to_string(&set).unwrap_or_default()
    }

    /// Whether the key is in it.
    pub fn has(&self, key: &PublicKey) -> bool {
        self.0.iter().any(|known| known.id() == key.id())
    }
}
