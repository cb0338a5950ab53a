#include "apimachinery/name_index.h"

#include "base/text.h"

namespace mist::apimachinery {
namespace {

constexpr std::size_t kEnough = 2;

// No part contains a line break that could make two names one: lengths stand in front.
std::string key_of(const ObjectName& name) {
  const auto part = [](const std::optional<std::string_view>& text) {
    return text ? fmt::format("{}:{}", text->size(), *text) : std::string("*");
  };
  return fmt::format("{} {} {} {}", part(lower_case(name.kind)), part(name.name), part(name.group),
                     part(name.ns));
}

}  // namespace

void NameIndex::add(const Object& object, std::size_t id) {
  using Part = std::optional<std::string_view>;
  for (const Part& group : {Part(), Part(object.gvk().group)}) {
    for (const Part& ns : {Part(), Part(object.ns())}) {
      std::vector<std::size_t>& ids = ids_[key_of({object.gvk().kind, object.name(), group, ns})];
      if (ids.size() < kEnough) ids.push_back(id);
    }
  }
}

std::vector<std::size_t> NameIndex::find(const ObjectName& name) const {
  const auto found = ids_.find(key_of(name));
  return found == ids_.end() ? std::vector<std::size_t>() : found->second;
}

}  // namespace mist::apimachinery
