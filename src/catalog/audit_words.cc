#include "catalog/audit_words.h"

#include "base/text.h"

namespace mist::catalog {
namespace {

// Neither names of packages nor those of accounts have spaces.
constexpr std::string_view kTo = " to ";

}  // namespace

std::string link_subject(std::string_view package, std::string_view url) {
  return fmt::format("{}{}{}", package, kTo, url);
}

std::string link_subject_without_url(std::string_view subject) {
  return std::string(subject.substr(0, subject.find(kTo)));
}

std::string role_subject(std::string_view account, Role role) {
  return role_subject_start(account) + std::string(to_string(role));
}

std::string role_subject_start(std::string_view account) { return fmt::format("{}{}", account, kTo); }

}  // namespace mist::catalog
