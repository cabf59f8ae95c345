//! API keys and access tokens: how they are made, hashed and checked. Knows nothing of teams or requests.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What every API key begins with, so that a leaked one is recognised.
pub const KEY_PREFIX: &str = "sk_secchi_";

/// How long an access token is good.
pub const TOKEN_TTL_S: i64 = 15 * 60;

/// How long a browser stays signed in.
pub const SESSION_TTL_S: i64 = 12 * 60 * 60;

/// The shortest secret that signs tokens.
const MIN_SECRET_BYTES: usize = 32;

const SECRET_FILE: &str = "jwt-secret";
const ISSUER: &str = "secchi";

/// What can be wrong with the secret or a token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The secret is too short to be safe.
    #[error(
        "SECCHI_JWT_SECRET has {0} bytes; give {MIN_SECRET_BYTES} or more, such as from `openssl rand -hex 32`"
    )]
    ShortSecret(usize),
    /// The secret's file cannot be read or made.
    #[error("the token secret `{0}` cannot be kept: {1}")]
    SecretFile(String, std::io::Error),
    /// A token could not be signed.
    #[error("a token could not be signed: {0}")]
    Sign(jsonwebtoken::errors::Error),
    /// A token is expired.
    #[error("the token has expired")]
    Expired,
    /// A token is none of this installation's.
    #[error("the token is not valid here")]
    Invalid,
}

/// A new API key of 256 random bits.
pub fn new_api_key() -> String {
    format!("{KEY_PREFIX}{}", hex::encode(rand::random::<[u8; 32]>()))
}

/// A new secret of 256 random bits that opens one thing: a sign-up to its applicant, an entry to its reviewers.
pub fn new_ticket() -> String {
    hex::encode(rand::random::<[u8; 32]>())
}

/// The hash under which a key or ticket is stored and looked up, in hex. How far a look-up got tells nothing of it: nobody
/// can choose the beginning of its hash.
pub fn hash_secret(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

/// What an access token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The API key's id that the token was exchanged for.
    pub sub: String,
    /// Who signed it.
    pub iss: String,
    /// The installation that it is for.
    pub aud: String,
    /// When it ends, in seconds since 1970.
    pub exp: i64,
    /// When it was signed, in seconds since 1970.
    pub iat: i64,
    /// The token's own id.
    pub jti: String,
}

/// Signs and checks the tokens of one installation.
#[derive(Clone)]
pub struct Signer {
    encoding: EncodingKey,
    decoding: DecodingKey,
    audience: String,
    session_audience: String,
}

impl Signer {
    /// A signer with the given secret, or with one that is made once and kept in the data folder.
    ///
    /// # Errors
    /// When the secret is shorter than 32 bytes or cannot be kept.
    pub fn new(secret: Option<&str>, data_dir: &Path, installation_id: &str) -> Result<Signer, TokenError> {
        let secret = match secret {
            Some(secret) if secret.len() < MIN_SECRET_BYTES => {
                return Err(TokenError::ShortSecret(secret.len()));
            }
            Some(secret) => secret.to_owned(),
            None => kept_secret(data_dir)?,
        };
        Ok(Signer {
            encoding: EncodingKey::from_secret(secret.as_bytes()).map_err(TokenError::Sign)?,
            decoding: DecodingKey::from_secret(secret.as_bytes()).map_err(TokenError::Sign)?,
            audience: installation_id.to_owned(),
            session_audience: format!("{installation_id}/pages"),
        })
    }

    /// Signs an access token for an API key, good for so many seconds, at most [`TOKEN_TTL_S`].
    ///
    /// # Errors
    /// When the crypto back end refuses.
    pub fn sign(&self, key_id: &str, ttl_s: i64, now_ms: i64) -> Result<String, TokenError> {
        self.sign_for(&self.audience, ttl_s.min(TOKEN_TTL_S), key_id, now_ms)
    }

    /// Signs the token of a browser that showed an API key, good for [`SESSION_TTL_S`]. It is no access token.
    ///
    /// # Errors
    /// When the crypto back end refuses.
    pub fn sign_session(&self, key_id: &str, now_ms: i64) -> Result<String, TokenError> {
        self.sign_for(&self.session_audience, SESSION_TTL_S, key_id, now_ms)
    }

    /// The id of the API key that an access token was exchanged for.
    ///
    /// # Errors
    /// When the token is expired or none of this installation's.
    pub fn verify(&self, token: &str, now_ms: i64) -> Result<String, TokenError> {
        self.verify_for(&self.audience, token, now_ms)
    }

    /// The id of the API key that a browser showed.
    ///
    /// # Errors
    /// When the token is expired or none of this installation's.
    pub fn verify_session(&self, token: &str, now_ms: i64) -> Result<String, TokenError> {
        self.verify_for(&self.session_audience, token, now_ms)
    }

    fn sign_for(&self, audience: &str, ttl_s: i64, key_id: &str, now_ms: i64) -> Result<String, TokenError> {
        let now_s = now_ms.div_euclid(1000);
        let claims = Claims {
            sub: key_id.to_owned(),
            iss: ISSUER.to_owned(),
            aud: audience.to_owned(),
            exp: now_s + ttl_s,
            iat: now_s,
            jti: uuid::Uuid::now_v7().to_string(),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding)
            .map_err(TokenError::Sign)
    }

    fn verify_for(&self, audience: &str, token: &str, now_ms: i64) -> Result<String, TokenError> {
        let mut rules = Validation::new(Algorithm::HS256);
        rules.set_issuer(&[ISSUER]);
        rules.set_audience(&[audience]);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        // The clock is handed in, so that expiry is checked below and not against the machine's.
        rules.validate_exp = false;
        let token =
            jsonwebtoken::decode::<Claims>(token, &self.decoding, &rules).map_err(|_| TokenError::Invalid)?;
        if token.claims.exp <= now_ms.div_euclid(1000) {
            return Err(TokenError::Expired);
        }
        Ok(token.claims.sub)
    }
}

fn kept_secret(data_dir: &Path) -> Result<String, TokenError> {
    let path = data_dir.join(SECRET_FILE);
    let failed = |error| TokenError::SecretFile(path.display().to_string(), error);
    std::fs::create_dir_all(data_dir).map_err(failed)?;
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match opened {
        Ok(mut file) => {
            let secret = hex::encode(rand::random::<[u8; 32]>());
            file.write_all(secret.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
            Ok(secret)
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let secret = std::fs::read_to_string(&path).map_err(failed)?;
            if secret.len() < MIN_SECRET_BYTES {
                return Err(TokenError::ShortSecret(secret.len()));
            }
            Ok(secret)
        }
        Err(error) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    const NOW_MS: i64 = 1_796_000_000_000;

    fn signer(secret: &str, installation: &str) -> Signer {
        Signer::new(Some(secret), Path::new("."), installation).unwrap()
    }

    #[test]
    fn a_token_names_its_key_until_it_expires() {
        let signer = signer(SECRET, "here");
        let token = signer.sign("key-1", TOKEN_TTL_S, NOW_MS).unwrap();
        assert_eq!(signer.verify(&token, NOW_MS + 899_000).unwrap(), "key-1");
        assert!(matches!(signer.verify(&token, NOW_MS + 900_000), Err(TokenError::Expired)));
    }

    #[test]
    fn a_sessions_token_is_no_access_token_and_the_other_way_round() {
        let signer = signer(SECRET, "here");
        let session = signer.sign_session("key-1", NOW_MS).unwrap();
        let access = signer.sign("key-1", TOKEN_TTL_S, NOW_MS).unwrap();
        assert_eq!(signer.verify_session(&session, NOW_MS + 1000 * (SESSION_TTL_S - 1)).unwrap(), "key-1");
        let after_ms = NOW_MS + 1000 * SESSION_TTL_S;
        assert!(matches!(signer.verify_session(&session, after_ms), Err(TokenError::Expired)));
        assert!(matches!(signer.verify(&session, NOW_MS), Err(TokenError::Invalid)));
        assert!(matches!(signer.verify_session(&access, NOW_MS), Err(TokenError::Invalid)));
    }

    #[test]
    fn a_token_of_another_secret_installation_or_algorithm_is_refused() {
        let here = signer(SECRET, "here");
        let foreign = [
            signer("another secret of thirty-two byte", "here").sign("k", TOKEN_TTL_S, NOW_MS).unwrap(),
            signer(SECRET, "there").sign("k", TOKEN_TTL_S, NOW_MS).unwrap(),
            // {"alg":"none"} with this installation's claims and no signature.
            format!(
                "eyJhbGciOiJub25lIn0.{}.",
                here.sign("k", TOKEN_TTL_S, NOW_MS).unwrap().split('.').nth(1).unwrap()
            ),
        ];
        for token in foreign {
            assert!(matches!(here.verify(&token, NOW_MS), Err(TokenError::Invalid)), "{token}");
        }
    }

    #[test]
    fn a_short_secret_is_refused() {
        assert!(matches!(Signer::new(Some("short"), Path::new("."), "i"), Err(TokenError::ShortSecret(5))));
    }
}
