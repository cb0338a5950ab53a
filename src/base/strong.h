#pragma once
// Strings that can't be mixed up: `using Namespace = Strong<struct NamespaceTag>;`. The types that promise a
// valid form (ReleaseName, Digest, …) have a `parse` of their own and a private constructor.

#include <compare>
#include <functional>
#include <string>
#include <utility>

namespace mist {

template <typename Tag>
class Strong {
 public:
  Strong() = default;
  explicit Strong(std::string text) : text_(std::move(text)) {}

  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }

  friend auto operator<=>(const Strong&, const Strong&) = default;

 private:
  std::string text_;
};

/// A Kubernetes namespace; empty: cluster-scoped, or not yet known.
using Namespace = Strong<struct NamespaceTag>;

}  // namespace mist

template <typename Tag>
struct std::hash<mist::Strong<Tag>> {
  std::size_t operator()(const mist::Strong<Tag>& value) const noexcept {
    return std::hash<std::string>{}(value.str());
  }
};
