#pragma once
// WWW-Authenticate as registries send it (RFC 9110 section 11.6.1; the token specification of CNCF
// distribution). Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mist::oci {

struct Challenge {
  enum class Scheme : std::uint8_t { Basic, Bearer };
  Scheme scheme = Scheme::Basic;
  std::string realm;    ///< of Bearer: the URL of the token server
  std::string service;  ///< empty: not said
  std::string scope;    ///< empty: not said
  std::string problem;  ///< "invalid_token", "insufficient_scope"; empty: none
  friend bool operator==(const Challenge&, const Challenge&) = default;
};

/// Those of the two schemes, in order; others, and what can't be read, are left out.
std::vector<Challenge> parse_challenges(std::string_view header);

enum class Access : std::uint8_t { Pull, Push, Delete };

/// "repository:team/shop:pull,push"; to delete, "repository:team/shop:pull,delete".
std::string scope_of(std::string_view repository, Access access);

}  // namespace mist::oci
