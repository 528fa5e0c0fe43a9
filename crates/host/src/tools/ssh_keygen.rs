//! ssh-keygen: signs short texts with a key of ssh, and checks such signatures.

use std::path::Path;

use super::{Query, script};

/// `$1`: the key, `$2`: the text. `drivebench` says what the signature is for: one for something else doesn't count.
const SIGN: &str = r#"printf '%s\n' "$2" | ssh-keygen -Y sign -n drivebench -f "$1""#;

/// `$1`: the file of signers, `$2`: the signature, `$3`: the text. Its output names the signer and the key.
const VERIFY: &str = r#"dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && printf '%s\n' "$2" >"$dir/sig" &&
who=$(ssh-keygen -Y find-principals -s "$dir/sig" -f "$1") && who=$(printf '%s\n' "$who" | head -n 1) &&
printf '%s\n' "$3" | ssh-keygen -Y verify -f "$1" -I "$who" -n drivebench -s "$dir/sig""#;

/// Signs a text with a private key without a passphrase, or with the agent's key that belongs to a public one.
pub fn sign(key: &Path, text: &str) -> Query {
    script(SIGN, [key.as_os_str(), text.as_ref()])
}

/// Whether the signature of a text is by one of the signers in a file of `ssh-keygen`'s format for allowed signers.
pub fn verify(signers: &Path, signature: &str, text: &str) -> Query {
    script(VERIFY, [signers.as_os_str(), signature.as_ref(), text.as_ref()])
}
