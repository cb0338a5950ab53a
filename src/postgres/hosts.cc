#include "postgres/hosts.h"

#include <algorithm>
#include <memory>
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

}  // namespace

std::vector<Host> hosts_in(const Libpq& pq, const SecretString& url) {
  const std::vector<Host> as_it_is(1);
  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(pq.PQconninfoFree)> options(
      pq.PQconninfoParse(url.reveal().c_str(), &problem), pq.PQconninfoFree);
  pq.PQfreemem(problem);
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
  if (count < 2 || !fits(names) || has_empty(names) || !fits(addresses) || has_empty(addresses) ||
      (!fits(ports) && ports.size() != 1))
    return as_it_is;
  std::vector<Host> hosts(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!names.empty()) hosts[i].name = names[i];
    if (!addresses.empty()) hosts[i].address = addresses[i];
    // As libpq reads "db1:5433,db2". One port alone is that of all.
    if (ports.size() == count) hosts[i].port = ports[i].empty() ? std::string(kUsualPort) : ports[i];
  }
  return hosts;
}

}  // namespace mist::postgres
