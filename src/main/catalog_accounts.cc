#include "main/catalog_accounts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "catalog/account_data.h"
#include "catalog/password.h"
#include "catalog/token.h"
#include "encoding/json.h"
#include "main/printing.h"
#include "main/secret_line.h"

namespace mist {
namespace {

Result<catalog::Role> role_named(const std::string& text) {
  if (const auto role = catalog::role_of(text)) return *role;
  return error(ErrorKind::Usage, "there is no role {}", escape_controls(text))
      .with_hint("author, moderator or administrator");
}

class AccountCommands {
 public:
  AccountCommands(const CommandLine& line, Machine& machine, const CatalogData& data)
      : line_(line), machine_(machine), data_(data) {}

  Status add_user() const;
  Status set_password() const;
  Status set_role() const;
  Status link_user() const;
  Status reset_code() const;
  Status set_disabled() const;
  Status export_user() const;
  Status delete_user() const;
  Status list_users() const;
  Status create_token() const;
  Status revoke_tokens() const;

 private:
  Result<std::string> hashed_password(const std::string& account) const;

  const CommandLine& line_;
  Machine& machine_;
  const CatalogData& data_;
};

// The hash of a new password: the first line of --password-file, or of the terminal.
Result<std::string> AccountCommands::hashed_password(const std::string& account) const {
  const std::string source = line_.text("--password-file", "-");
  std::string text;
  if (source == "-") {
    MIST_TRY(text, read_secret_line("new password: ", machine_.context));
  } else {
    MIST_TRY(text, machine_.files.read(std::filesystem::absolute(source)));
    text.resize(std::min(text.size(), text.find('\n')));
  }
  if (text.ends_with('\r')) text.pop_back();
  const SecretString password(std::move(text));
  MIST_TRY_VOID(catalog::check_new_password(password, account));
  return catalog::PasswordHasher(machine_.random).hash(password);
}

Status AccountCommands::add_user() const {
  const std::string& name = line_.arguments[0];
  MIST_TRY(const catalog::Role role, role_named(line_.text("--role", "author")));
  std::string password;
  if (line_.has("--password-file")) {
    MIST_TRY(password, hashed_password(name));
  }
  MIST_TRY(const catalog::Account account,
           data_.accounts->add(name, role, password, by_command_line("add account", name)));
  std::string words =
      fmt::format("account {} added, with the role {}\n", account.name, to_string(account.role));
  if (password.empty())
    words +=
        fmt::format("mistletoe-catalog token create {0} makes a token for it, user password {0} a password\n",
                    account.name);
  return print_result(words);
}

Status AccountCommands::set_password() const {
  const std::string& name = line_.arguments[0];
  MIST_TRY(const std::string hash, hashed_password(name));
  return data_.accounts->set_password(name, hash, by_command_line("change password", name));
}

Status AccountCommands::set_role() const {
  const std::string& name = line_.arguments[0];
  MIST_TRY(const catalog::Role role, role_named(line_.arguments[1]));
  return data_.accounts->set_role(
      name, role, by_command_line("set role", fmt::format("{} to {}", name, to_string(role))));
}

Status AccountCommands::link_user() const {
  const std::string issuer = line_.text("--oidc-issuer");
  if (issuer.empty()) return error(ErrorKind::Usage, "user link needs --oidc-issuer");
  const auto& arguments = line_.arguments;
  return data_.accounts->link_identity(arguments[0], issuer, arguments[1],
                                       by_command_line("link identity", arguments[0]));
}

Status AccountCommands::reset_code() const {
  const std::string& name = line_.arguments[0];
  const Status ended = data_.accounts->end_second_factor(name, by_command_line("remove authenticator", name));
  if (!ended.ok() && ended.error().kind != ErrorKind::NotFound) return ended.error();
  MIST_TRY(const std::int64_t passkeys,
           data_.passkeys->remove_all(name, by_command_line("remove passkeys", name)));
  if (!ended.ok() && passkeys == 0)
    return error(ErrorKind::NotFound, "{} has neither an authenticator nor a passkey", name);
  return {};
}

Status AccountCommands::set_disabled() const {
  const bool disabled = line_.command == "user disable";
  const std::string& name = line_.arguments[0];
  return data_.accounts->set_disabled(name, disabled, by_command_line(disabled ? "disable" : "enable", name));
}

Status AccountCommands::export_user() const {
  MIST_TRY(const encoding::Value data, catalog::account_data({.store = *data_.store,
                                                              .accounts = *data_.accounts,
                                                              .feedback = *data_.feedback,
                                                              .passkeys = data_.passkeys.get()},
                                                             line_.arguments[0]));
  return print_result(encoding::to_json(data, encoding::JsonStyle::Pretty) + "\n");
}

Status AccountCommands::delete_user() const {
  const std::string& name = line_.arguments[0];
  MIST_TRY(const std::string gone, data_.accounts->remove(name, by_command_line("delete account", name)));
  return print_result(fmt::format("account {} is {} now\n", name, gone));
}

Status AccountCommands::list_users() const {
  catalog::Page page;
  do {
    MIST_TRY(const auto accounts, data_.accounts->list(page));
    for (const catalog::AccountDetails& each : accounts.items)
      MIST_TRY_VOID(print_result(fmt::format("{}\t{}{}\n", each.account.name, to_string(each.account.role),
                                             each.disabled ? "\tdisabled" : "")));
    page.after = accounts.next;
  } while (!page.after.empty());
  return {};
}

Status AccountCommands::create_token() const {
  MIST_TRY(const catalog::Scopes scopes,
           catalog::Scopes::parse(line_.text("--scopes", catalog::kUsualScopes)));
  const SecretString token = catalog::new_token(machine_.random);
  catalog::NewToken stored{.account = line_.arguments[0],
                           .digest = catalog::token_digest(token.reveal()),
                           .label = line_.text("--label"),
                           .scopes = join(scopes.names(), " ")};
  if (line_.has("--expires")) {
    MIST_TRY(const Duration time, line_.duration("--expires", ""));
    stored.expires = machine_.clock.now() + std::chrono::duration_cast<WallTime::duration>(time);
  }
  MIST_TRY(const auto account, data_.accounts->find(stored.account));
  if (!account) return error(ErrorKind::NotFound, "there is no account {}", escape_controls(stored.account));
  // The only time that anybody sees it, so it isn't stored before: a token that was written to a full disk
  // would open the account without being known.
  MIST_TRY_VOID(deliver_result(token.reveal() + "\n"));
  return data_.accounts->add_token(stored, by_command_line("create token", stored.account));
}

Status AccountCommands::revoke_tokens() const {
  return data_.accounts->revoke_tokens(line_.arguments[0],
                                       by_command_line("revoke tokens", line_.arguments[0]));
}

struct AccountCommand {
  std::string_view name;
  Status (AccountCommands::*run)() const;
};
constexpr std::array kAccountCommands{
    AccountCommand{"user add", &AccountCommands::add_user},
    AccountCommand{"user password", &AccountCommands::set_password},
    AccountCommand{"user role", &AccountCommands::set_role},
    AccountCommand{"user reset-code", &AccountCommands::reset_code},
    AccountCommand{"user link", &AccountCommands::link_user},
    AccountCommand{"user disable", &AccountCommands::set_disabled},
    AccountCommand{"user enable", &AccountCommands::set_disabled},
    AccountCommand{"user export", &AccountCommands::export_user},
    AccountCommand{"user delete", &AccountCommands::delete_user},
    AccountCommand{"user list", &AccountCommands::list_users},
    AccountCommand{"token create", &AccountCommands::create_token},
    AccountCommand{"token revoke", &AccountCommands::revoke_tokens},
};

}  // namespace

Status run_account_command(const CommandLine& line, Machine& machine, const CatalogData& data) {
  const auto command = std::ranges::find(kAccountCommands, line.command, &AccountCommand::name);
  MIST_CHECK(command != kAccountCommands.end());
  return (AccountCommands(line, machine, data).*command->run)();
}

}  // namespace mist
