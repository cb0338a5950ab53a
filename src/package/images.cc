#include "package/images.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace mist::package {
namespace {

using encoding::Value;

constexpr std::array<std::string_view, 3> kImageHolders{"containers", "initContainers",
                                                        "ephemeralContainers"};

class ImageCollector {
 public:
  void look(const Value& value) {
    if (value.is_array()) {
      for (const Value& item : value.as_array()) look(item);
      return;
    }
    if (!value.is_object()) return;
    for (const Value::Member& member : value.as_object()) {
      if (member.value.is_array()) {
        if (std::ranges::find(kImageHolders, member.key) != kImageHolders.end())
          for (const Value& container : member.value.as_array()) add(container.string_at("image"));
        if (member.key == "volumes")
          for (const Value& volume : member.value.as_array()) add(volume.string_at({"image", "reference"}));
      }
      look(member.value);
    }
  }

  std::vector<std::string> finish() && { return {found_.begin(), found_.end()}; }

 private:
  void add(std::string_view image) {
    if (!image.empty()) found_.emplace(image);
  }

  std::set<std::string> found_;
};

}  // namespace

std::vector<std::string> images_of(const std::vector<Value>& objects) {
  ImageCollector collector;
  for (const Value& each : objects) collector.look(each);
  return std::move(collector).finish();
}

}  // namespace mist::package
