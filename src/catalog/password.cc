#include "catalog/password.h"

#include <array>
#include <bit>
#include <charconv>
#include <vector>

#include "base/text.h"
#include "catalog/place.h"
#include "crypto/digest.h"

namespace mist::catalog {
namespace {

constexpr std::string_view kScrypt = "scrypt";
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kSaltBytes = 16;

struct StoredPassword {
  crypto::ScryptCost cost;
  std::string salt, hash;
};

std::string cost_text(const crypto::ScryptCost& cost) {
  return fmt::format("{},{},{}", std::countr_zero(cost.n), cost.r, cost.p);
}

std::optional<StoredPassword> parse_stored(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '$');
  if (parts.size() != 4 || parts[0] != kScrypt) return std::nullopt;
  std::array<unsigned, 3> numbers{};
  const std::vector<std::string_view> cost = split(parts[1], ',');
  if (cost.size() != numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto [end, failed] = std::from_chars(cost[i].data(), cost[i].data() + cost[i].size(), numbers[i]);
    if (failed != std::errc() || end != cost[i].data() + cost[i].size()) return std::nullopt;
  }
  if (numbers[0] > 24) return std::nullopt;
  return StoredPassword{.cost = {std::uint64_t{1} << numbers[0], numbers[1], numbers[2]},
                        .salt = std::string(parts[2]),
                        .hash = std::string(parts[3])};
}

}  // namespace

Status check_new_password(const SecretString& password, std::string_view account) {
  const std::string& text = password.reveal();
  if (text.size() < kShortestPassword)
    return error(ErrorKind::Invalid, "the password has fewer than {} characters", kShortestPassword)
        .with_hint("a sentence is easy to remember and hard to guess");
  if (text.size() > kLongestPassword)
    return error(ErrorKind::Invalid, "the password has more than {} bytes", kLongestPassword);
  if (!is_valid_utf8(text)) return error(ErrorKind::Invalid, "the password is not UTF-8");
  if (text.find_first_not_of(text[0]) == std::string::npos)
    return error(ErrorKind::Invalid, "the password is one character again and again");
  if (account.size() > 3 && lower_case(text).find(account) != std::string::npos)
    return error(ErrorKind::Invalid, "the password has the name of the account in it");
  return {};
}

Result<std::string> PasswordHasher::hash(const SecretString& password) {
  const std::string salt = random_.token(kSaltBytes);
  MIST_TRY(const std::string hash, paid(password, salt, cost_));
  return fmt::format("{}${}${}${}", kScrypt, cost_text(cost_), salt, hash);
}

Result<bool> PasswordHasher::matches(const SecretString& password, const std::string& stored) {
  // Longer ones were never taken, and cost no time.
  if (password.reveal().size() > kLongestPassword) return false;
  if (stored.empty()) {
    MIST_TRY_VOID(paid(password, std::string(2 * kSaltBytes, '0'), cost_));
    return false;
  }
  const std::optional<StoredPassword> parsed = parse_stored(stored);
  if (!parsed) return error(ErrorKind::Internal, "a stored password is damaged");
  MIST_TRY(const std::string hash, paid(password, parsed->salt, parsed->cost));
  return crypto::constant_time_equal(crypto::as_bytes(hash), crypto::as_bytes(parsed->hash));
}

bool PasswordHasher::is_old(const std::string& stored) const {
  const std::optional<StoredPassword> parsed = parse_stored(stored);
  return !parsed || cost_text(parsed->cost) != cost_text(cost_);
}

Result<std::string> PasswordHasher::paid(const SecretString& password, const std::string& salt,
                                         const crypto::ScryptCost& cost) {
  const Place place(free_);
  if (!place.taken())
    return error(ErrorKind::Retryable, "others are signing in just now").with_hint("try again in a moment");
  MIST_TRY(const std::vector<std::byte> bytes,
           crypto::scrypt(password, crypto::as_bytes(salt), cost, kHashBytes));
  return hex(bytes);
}

}  // namespace mist::catalog
