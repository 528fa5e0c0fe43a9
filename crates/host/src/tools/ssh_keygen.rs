//! ssh-keygen: signs short texts with a key of ssh, and checks such signatures.

use std::{path::Path, time::Duration};

use super::{Query, Tool, script};

pub const SSH_KEYGEN: Tool = Tool { name: "ssh-keygen", package: "openssh-client" };

/// What a signature is for, so that one made for something else doesn't count.
const NAMESPACE: &str = "drivebench";
/// A person may type a passphrase or touch a token.
const PATIENCE: Duration = Duration::from_secs(120);

/// `$1`: the file of signers, `$2`: the signature, `$3`: the text. Its output names the signer and the key.
const VERIFY: &str = r#"dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && printf '%s\n' "$2" >"$dir/sig" &&
who=$(ssh-keygen -Y find-principals -s "$dir/sig" -f "$1") && who=$(printf '%s\n' "$who" | head -n 1) &&
printf '%s\n' "$3" | ssh-keygen -Y verify -f "$1" -I "$who" -n drivebench -s "$dir/sig""#;

/// Signs its standard input with a private key, or with the agent's key that belongs to a public one.
pub fn sign(key: &Path) -> Query {
    let args = ["-Y", "sign", "-n", NAMESPACE, "-f"].map(AsRef::as_ref);
    Query::new(SSH_KEYGEN, args.into_iter().chain([key.as_os_str()])).within(PATIENCE)
}

/// Whether the signature of a text is by one of the signers in a file of `ssh-keygen`'s format for allowed signers.
pub fn verify(signers: &Path, signature: &str, text: &str) -> Query {
    script(VERIFY, [signers.as_os_str(), signature.as_ref(), text.as_ref()])
}
