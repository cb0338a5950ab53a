#pragma once
// Takes credentials out of the URLs that people and logs see: their userinfo, and values of query parameters
// that are named like a secret. Pure; any thread.

#include <string>
#include <string_view>

namespace mist {

/// `text` with every URL in it made safe, also those within others: "https://user:pw@host/x?token=t" gives
/// "https://***@host/x?token=***". The plain user name of ssh ("ssh://git@host", "git@host:x") stays, its
/// password doesn't. Also of passwords in which somebody forgot to escape a '/', '?', '#' or, where `text` is
/// one URL, a blank. Cut the result, not `text`: the beginning of a password isn't known as one.
std::string redact_urls(std::string_view text);

/// The same for an error about a text that should be a URL or a reference, with controls escaped, and at most
/// 200 bytes of it.
std::string shown_url(std::string_view text);

/// `text` with the URLs in it as they are to be kept for another time: "https://user:pw@host/x?token=t" gives
/// "https://host/x", "ssh://git:pw@host/x" gives "ssh://git@host/x". A later user of them has to get the
/// credentials elsewhere.
std::string without_credentials(std::string_view text);

/// For a URL in pieces that is shown: what follows its "://" without the userinfo, and what stands
/// behind its '?', with that, each value hidden whose name is that of a secret.
std::string_view without_userinfo(std::string_view rest);
std::string hidden_query(std::string_view query);

}  // namespace mist
