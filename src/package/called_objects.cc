#include "package/called_objects.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace mist::package {

using apimachinery::RenderedObject;

namespace {

struct CalledFile {
  const std::string& path;
  const std::string& text;
};

std::vector<CalledFile> files_of(const CallTree::Answered& answered) {
  std::vector<CalledFile> files;
  const Value* const given = answered.answer.value.find("files");
  if (given == nullptr) return files;
  for (const Value::Member& each : given->as_object()) {
    if (each.value.is_string() && !each.value.as_string().empty())
      files.push_back({each.key, each.value.as_string()});
  }
  return files;
}

// Innermost first, so that the first that is found made it.
std::vector<const CallTree::Answered*> innermost_first(const CallTree& tree) {
  std::vector<const CallTree::Answered*> all;
  for (const auto& [key, answered] : tree.answers()) all.push_back(&answered);
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const CallTree::Answered* each) { return each->path.size(); });
  return all;
}

FileOrigin origin_of(const CallTree::Answered& answered, const std::string& path) {
  FileOrigin origin;
  if (const auto known = answered.origins.find(path); known != answered.origins.end())
    origin = known->second;
  else
    origin.source = answered.written ? path : path + std::string(kRenderedMark);
  origin.package = join(answered.path, kPackageArrow);
  return origin;
}

// The identity wherever the caller puts it: the caller may choose another version, or fill in the namespace.
using Identity = std::tuple<std::string, std::string, std::string>;
Identity identity_of(const RenderedObject& rendered) {
  const apimachinery::ObjectKey key = rendered.object.key();
  return {key.group_kind.group, key.group_kind.kind, key.name};
}

// The packages that gave objects of one identity first, by namespace and in any. A package may give as many
// equal names as it likes, so nobody walks through them.
class Makers {
 public:
  void add(const std::string& ns, const CallTree::Answered* maker) {
    const First one{given_++, maker};
    first_.try_emplace(ns, one);
    if (any_.maker == nullptr) any_ = one;
  }

  // An object without a namespace may be in any. Null: nobody did.
  const CallTree::Answered* of(const std::string& ns) const {
    if (ns.empty()) return any_.maker;
    First found;
    for (const std::string& place : {std::string(), ns}) {
      const auto here = first_.find(place);
      if (here != first_.end() && (found.maker == nullptr || here->second.order < found.order))
        found = here->second;
    }
    return found.maker;
  }

 private:
  struct First {
    std::size_t order = 0;
    const CallTree::Answered* maker = nullptr;
  };
  std::map<std::string, First> first_;
  First any_;
  std::size_t given_ = 0;
};

std::map<Identity, Makers> makers_of(const CallTree& tree) {
  std::map<Identity, Makers> makers;
  NullEventSink nobody;
  for (const CallTree::Answered* const answered : innermost_first(tree)) {
    for (const CalledFile& file : files_of(*answered)) {
      // A file that can't be parsed has no objects; if the caller gives it too, that is reported there.
      const auto objects = parse_objects({{file.path, file.text}}, nobody);
      if (!objects.ok()) continue;
      for (const RenderedObject& each : *objects)
        makers[identity_of(each)].add(each.object.key().ns, answered);
    }
  }
  return makers;
}

}  // namespace

FileOrigins origins_of_called(const std::map<std::string, std::string>& files, const CallTree& tree) {
  std::map<std::string_view, std::pair<const CallTree::Answered*, const std::string*>> by_text;
  for (const CallTree::Answered* const answered : innermost_first(tree)) {
    for (const CalledFile& file : files_of(*answered)) by_text.try_emplace(file.text, answered, &file.path);
  }
  FileOrigins origins;
  for (const auto& [path, text] : files) {
    if (const auto made = by_text.find(text); made != by_text.end())
      origins.emplace(path, origin_of(*made->second.first, *made->second.second));
  }
  return origins;
}

void attribute_changed(std::vector<RenderedObject>& objects, const CallTree& tree) {
  if (std::ranges::none_of(objects, [](const RenderedObject& each) { return each.package.empty(); })) return;
  const std::map<Identity, Makers> makers = makers_of(tree);
  for (RenderedObject& rendered : objects) {
    if (!rendered.package.empty()) continue;
    const auto known = makers.find(identity_of(rendered));
    const CallTree::Answered* const maker =
        known == makers.end() ? nullptr : known->second.of(rendered.object.key().ns);
    if (maker != nullptr) rendered.package = join(maker->path, kPackageArrow);
  }
}

const Source* called_source(const Source& root, std::string_view path) {
  const Source* source = &root;
  bool first = true;
  while (!path.empty()) {
    const auto arrow = path.find(kPackageArrow);
    const std::string name(path.substr(0, arrow));
    path = arrow == std::string_view::npos ? "" : path.substr(arrow + kPackageArrow.size());
    if (std::exchange(first, false)) continue;
    const auto called = source->dependencies.find(name);
    if (called == source->dependencies.end()) return nullptr;
    source = &called->second->source;
  }
  return source;
}

}  // namespace mist::package
