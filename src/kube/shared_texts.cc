#include "kube/shared_texts.h"

#include <algorithm>

namespace mist::kube {

SharedTexts::Text SharedTexts::share(std::string_view text) {
  if (const auto known = texts_.find(text); known != texts_.end()) return *known;
  // As many additions pass between two searches as there are texts left, so a text costs little on average.
  if (texts_.size() >= most_) {
    std::erase_if(texts_, [](const Text& each) { return each.use_count() == 1; });
    most_ = std::max<std::size_t>(64, texts_.size() * 2);
  }
  return *texts_.insert(std::make_shared<const std::string>(text)).first;
}

}  // namespace mist::kube
