#include "postgres/hosts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/text.h"
#include "postgres/libpq.h"

namespace mist::postgres {
namespace {

constexpr std::string_view kUsualPort = "5432";

std::vector<std::string> elements(std::string_view list) {
  std::vector<std::string> each;
  if (list.empty()) return each;
  for (const std::string_view element : split(list, ',')) each.emplace_back(element);
  return each;
}

bool has_empty(const std::vector<std::string>& list) {
  return std::ranges::any_of(list, [](const std::string& each) { return each.empty(); });
}

// Null: it can't be read. The words of libpq about that may have the password in them.
auto options_in(const Libpq& pq, const SecretString& url) {
  char* problem = nullptr;
  std::unique_ptr<PQconninfoOption, decltype(pq.PQconninfoFree)> options(
      pq.PQconninfoParse(url.reveal().c_str(), &problem), pq.PQconninfoFree);
  pq.PQfreemem(problem);
  return options;
}

}  // namespace

bool Host::needs_lookup() const {
  // Directories of sockets, and IPv6 addresses, perhaps with a zone.
  const bool is_other = name.starts_with('/') || name.starts_with('@') || name.find(':') != name.npos;
  return !name.empty() && address.empty() && !is_other;
}

std::string Host::shown() const {
  if (name.empty() || address.empty() || name == address) return name.empty() ? address : name;
  return fmt::format("{} ({})", name, address);
}

bool is_understood(const Libpq& pq, const SecretString& url) { return options_in(pq, url) != nullptr; }

Hosts hosts_in(const Libpq& pq, const SecretString& url) {
  Hosts as_it_is;
  const auto options = options_in(pq, url);
  if (!options) return as_it_is;
  const auto value_of = [&](std::string_view keyword) -> std::string_view {
    for (const PQconninfoOption* each = options.get(); each->keyword != nullptr; ++each)
      if (each->keyword == keyword) return each->val == nullptr ? "" : each->val;
    return "";
  };
  // It looks at all of them twice.
  if (value_of("target_session_attrs") == "prefer-standby") return as_it_is;
  const auto names = elements(value_of("host")), addresses = elements(value_of("hostaddr")),
             ports = elements(value_of("port"));
  const std::size_t count = std::max(names.size(), addresses.size());
  const auto fits = [&](const std::vector<std::string>& list) {
    return list.empty() || list.size() == count;
  };
  if (count == 0 || !fits(names) || has_empty(names) || !fits(addresses) || has_empty(addresses) ||
      (!fits(ports) && ports.size() != 1))
    return as_it_is;
  Hosts hosts{.all = std::vector<Host>(count), .in_any_order = value_of("load_balance_hosts") == "random"};
  for (std::size_t i = 0; i < count; ++i) {
    Host& host = hosts.all[i];
    if (!names.empty()) host.name = names[i];
    if (!addresses.empty()) host.address = addresses[i];
    // As libpq reads "db1:5433,db2". One port alone is that of all.
    if (ports.size() == count) host.port = ports[i].empty() ? std::string(kUsualPort) : ports[i];
  }
  return hosts;
}

void shuffle(std::vector<Host>& hosts, Random& random) {
  for (std::size_t left = hosts.size(); left > 1; --left) {
    std::array<std::uint64_t, 1> number{};
    random.fill(std::as_writable_bytes(std::span(number)));
    std::swap(hosts[left - 1], hosts[static_cast<std::size_t>(number[0] % left)]);
  }
}

}  // namespace mist::postgres
