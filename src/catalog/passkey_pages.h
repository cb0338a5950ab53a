#pragma once
// Parts of pages on which somebody uses a passkey. Only a script can ask a browser for one
// (web/page/passkey.ts), so each form works without it in another way, or says that it needs JavaScript.
// Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "catalog/account_pages.h"
#include "catalog/account_store.h"
#include "catalog/markup.h"
#include "catalog/passkey_store.h"

namespace mist::catalog {

/// The field of a form in which the script puts the browser's answer.
inline constexpr std::string_view kCredentialField = "credential";
/// Beside a new passkey: the answer of one that the account has, in place of a code.
inline constexpr std::string_view kProofField = "proof";

/// A form's attributes, for a question that `ask` answers in JSON with the options of navigator.credentials.
Markup passkey_form(std::string_view ask);
/// Its hidden field, and the button that asks. `otherwise`: what a browser without JavaScript shows.
Markup passkey_button(std::string_view words, std::string_view otherwise);
/// Once on each page with such a form.
Markup passkey_script_tag();

/// The form on the page of signing in.
Markup passkey_sign_in(const FormState& form);
/// Of the account's page.
Markup passkeys_section(const FormState& form, const AccountDetails& details,
                        const std::vector<Passkey>& passkeys, PasskeyOffer offer);

/// The script, as script.h has its own.
const std::string& passkey_script();
const std::string& passkey_script_path();

}  // namespace mist::catalog
