//! Signs the head of a journal with an SSH key, and checks such a seal: a journal that was rewritten from the start has
//! another head.

use std::path::Path;

use ssh_key::{Algorithm, HashAlg, LineEnding, PrivateKey, PublicKey, SshSig};

use crate::chain::Digest;
use crate::segment::JournalError;
use crate::verify::{VerifyReport, check_chain};

/// The purpose that the signature is bound to.
pub const SEAL_NAMESPACE: &str = "hookwright-journal";
const TITLE: &str = "hookwright journal head";
/// What to do with a key that can't sign.
const OTHER_KEY: &str =
    "seals are signed with private Ed25519 keys in OpenSSH's format; `ssh-keygen -t ed25519 -f FILE` makes one";
const SIGNATURE_START: &str = "-----BEGIN SSH SIGNATURE-----";

/// Why a journal could not be sealed, or a seal does not hold.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal has damage, so that its head proves nothing.
    #[error("the journal does not verify: {0}")]
    Damaged(String),
    /// There is nothing to seal.
    #[error("the journal is empty")]
    Empty,
    /// The key cannot be used.
    #[error("the key can't be used: {0}")]
    Key(String),
    /// The key is protected by a passphrase, so that another program must sign the statement.
    #[error("the key is protected by a passphrase")]
    Passphrase {
        /// The text to sign.
        statement: String,
    },
    /// The seal is not one that this program wrote.
    #[error("this is not a seal of a journal: {0}")]
    Format(&'static str),
    /// The signature does not match.
    #[error("the signature does not match: {0}")]
    Signature(String),
    /// The seal was made with another key.
    #[error("the seal was made with another key: {0}")]
    OtherKey(String),
    /// The journal has another line at that place.
    #[error("line {line} is not the one that was sealed: the journal was rewritten")]
    Rewritten {
        /// The number of the sealed line.
        line: u64,
    },
    /// The sealed line is gone.
    #[error("line {line}, which was sealed, is not in the journal")]
    Missing {
        /// The number of the sealed line.
        line: u64,
    },
}

/// Returns a seal of the journal's head: readable text, and, with a key, an SSH signature of it.
///
/// # Errors
/// If the journal does not verify, or the key cannot be used.
pub fn sign_head(dir: &Path, private_key: Option<&str>) -> Result<String, SealError> {
    let (report, _) = check_chain(dir, None)?;
    if let Some(finding) = report.findings.first() {
        return Err(SealError::Damaged(finding.to_string()));
    }
    let VerifyReport { last_line, head, lines, .. } = report;
    if lines == 0 {
        return Err(SealError::Empty);
    }
    let time = format!("{:.0}", jiff::Timestamp::now());
    let statement = format!("{TITLE}\nline {last_line}\ndigest {head}\ntime {time}\n");
    let Some(private_key) = private_key else { return Ok(statement) };
    let key = PrivateKey::from_openssh(private_key).map_err(|error| SealError::Key(format!("{error}; {OTHER_KEY}")))?;
    if key.algorithm() != Algorithm::Ed25519 {
        return Err(SealError::Key(format!("it is of the type {}; {OTHER_KEY}", key.algorithm())));
    }
    if key.is_encrypted() {
        return Err(SealError::Passphrase { statement });
    }
    let signature = key
        .sign(SEAL_NAMESPACE, HashAlg::Sha512, statement.as_bytes())
        .and_then(|signature| signature.to_pem(LineEnding::LF))
        .map_err(|error| SealError::Key(error.to_string()))?;
    Ok(format!("{statement}{signature}"))
}

/// Checks a seal against the journal, and returns the line that it covers and the fingerprint of its key.
///
/// # Errors
/// If the seal does not hold; the error says why.
pub fn check_seal(dir: &Path, seal: &str, public_key: Option<&str>) -> Result<(u64, Option<String>), SealError> {
    let (statement, signature) = match seal.find(SIGNATURE_START) {
        Some(start) => (&seal[..start], Some(&seal[start..])),
        None => (seal, None),
    };
    let lines = statement.strip_prefix(TITLE).ok_or(SealError::Format("it has another title"))?.lines();
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
    let field = |name: &str| fields.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
    let line: u64 = field("line").and_then(|line| line.parse().ok()).ok_or(SealError::Format("it names no line"))?;
    let digest = field("digest").and_then(Digest::from_hex).ok_or(SealError::Format("it has no digest"))?;
    let signer = signature.map(|signature| check_signature(statement, signature, public_key)).transpose()?;
    if signer.is_none() && public_key.is_some() {
        return Err(SealError::Format("it is not signed"));
    }
    let (report, found) = check_chain(dir, Some(line))?;
    match found {
        None => Err(SealError::Missing { line }),
        Some(found) if found != digest => Err(SealError::Rewritten { line }),
        Some(_) => match report.findings.iter().find(|finding| finding.line.is_none_or(|at| at <= line)) {
            Some(finding) => Err(SealError::Damaged(finding.to_string())),
            None => Ok((line, signer)),
        },
    }
}

fn check_signature(statement: &str, signature: &str, public_key: Option<&str>) -> Result<String, SealError> {
    let bad = |error: ssh_key::Error| SealError::Signature(error.to_string());
    let signature = SshSig::from_pem(signature).map_err(bad)?;
    let signer = PublicKey::from(signature.public_key().clone());
    signer.verify(SEAL_NAMESPACE, statement.as_bytes(), &signature).map_err(bad)?;
    let fingerprint = signer.fingerprint(HashAlg::Sha256).to_string();
    if let Some(expected) = public_key {
        let expected = PublicKey::from_openssh(expected).map_err(|error| SealError::Key(error.to_string()))?;
        if expected.key_data() != signer.key_data() {
            return Err(SealError::OtherKey(fingerprint));
        }
    }
    Ok(fingerprint)
}
