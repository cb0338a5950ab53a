//! The ACL file: https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/

use mistletoe::secret::{SecretText, sha256};

use crate::{Access, Account};

/// A line for each user. Without a name and password nobody may do anything, except the probes, which may ask whether the
/// server answers.
pub fn file(admin: &SecretText, accounts: &[Account]) -> String {
    let mut lines = vec![
        "user default off resetpass resetkeys resetchannels -@all".to_owned(),
        "user health on nopass resetkeys resetchannels -@all +ping".to_owned(),
        format!("user admin on #{} ~* &* +@all", sha256(admin.reveal())),
    ];
    lines.extend(accounts.iter().map(line));
    lines.join("\n") + "\n"
}

fn line(account: &Account) -> String {
    let Account { username, password, keys, access } = account;
    let password = sha256(password.reveal());
    let patterns = |sign: &str| keys.iter().map(|key| format!(" {sign}{key}")).collect::<String>();
    // Reading and writing, without what is about the server: its configuration, other users, all keys at once.
    let (keys, commands) = match access {
        Access::ReadWrite => (patterns("~"), "+@all -@admin -@dangerous +info"),
        Access::ReadOnly => (patterns("%R~"), "+@read +@connection +@pubsub -publish -spublish -@dangerous"),
    };
    format!("user {username} on #{password}{keys}{} {commands}", patterns("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_hold_for_keys_and_channels() {
        let keys = ["shop:*".to_owned(), "x".to_owned()];
        let account = |access| Account { username: "web", password: "p".into(), keys: &keys, access };
        let digest = sha256("p");
        assert_eq!(
            line(&account(Access::ReadWrite)),
            format!("user web on #{digest} ~shop:* ~x &shop:* &x +@all -@admin -@dangerous +info")
        );
        assert!(line(&account(Access::ReadOnly)).contains(" %R~shop:* %R~x &shop:* &x +@read "));
    }

    #[test]
    fn nobody_may_do_anything_without_a_password() {
        let file = file(&"p".into(), &[]);
        assert!(file.starts_with("user default off "));
        assert_eq!(file.matches("nopass").count(), 1);
        assert!(file.contains("user health on nopass resetkeys resetchannels -@all +ping\n"));
    }
}
