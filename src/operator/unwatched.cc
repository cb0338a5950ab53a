#include "operator/unwatched.h"

#include <algorithm>

#include "base/text.h"
#include "operator/words.h"

namespace mist::operator_ {
namespace {

// The status is an annotation.
constexpr std::size_t kMostNamespaces = 20;

std::string its_instances(const std::string& ns) {
  return ns.empty() ? "its instances" : fmt::format("its instances in namespace {}", ns);
}

std::string unlisted_words(const std::string& ns, const Error& failure) {
  return fmt::format("{} can't be listed, so that changes of them are not seen: {}", its_instances(ns),
                     server_words(failure));
}

std::string_view hint_for(const std::string& ns, const Error& failure) {
  if (failure.kind != ErrorKind::Forbidden)
    return "repair or delete the object that the server names, or repair what converts it; the list is asked "
           "for again every few seconds";
  if (ns.empty()) return "give the account that right; the list is asked for again within 15 seconds";
  return "give the account that right, or start the operator without that namespace if it is gone; the list "
         "is asked for again within 15 seconds";
}

}  // namespace

Unwatched unwatched_instances(Unwatched failures) {
  std::erase_if(failures, [](const auto& each) { return each.second.kind == ErrorKind::NotFound; });
  return failures;
}

std::string unwatched_words(const Unwatched& failures) {
  std::vector<std::string> lines;
  std::vector<std::string_view> hints;
  for (const auto& [ns, failure] : failures) {
    if (const std::string_view hint = hint_for(ns, failure); std::ranges::find(hints, hint) == hints.end())
      hints.push_back(hint);
    if (lines.size() < kMostNamespaces) lines.push_back(unlisted_words(ns, failure));
  }
  if (failures.size() > lines.size())
    lines.push_back(fmt::format("nor can those in {} other namespaces", failures.size() - lines.size()));
  for (const std::string_view hint : hints) lines.push_back(fmt::format("hint: {}", hint));
  return join(lines, "\n");
}

std::vector<std::string> unwatched_news(const Unwatched& before, const Unwatched& now) {
  std::vector<std::string> news;
  for (const auto& [ns, failure] : now) {
    const auto known = before.find(ns);
    if (known == before.end() || server_words(known->second) != server_words(failure))
      news.push_back(unlisted_words(ns, failure));
  }
  for (const auto& [ns, failure] : before)
    if (!now.contains(ns)) news.push_back(fmt::format("{} can be listed again", its_instances(ns)));
  return news;
}

}  // namespace mist::operator_
