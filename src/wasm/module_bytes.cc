#include "wasm/module_bytes.h"

#include <mutex>
#include <span>

#include "wasm/binary.h"

namespace mist::wasm {

struct ModuleBytes::State {
  std::string bytes;
  std::uint64_t size = 0;
  Read read = nullptr;                   // null: they are in `bytes`
  BinaryKind kind = BinaryKind::Module;  // if not
  std::optional<std::string> section{};  // if not
  std::once_flag hashed{};
  std::optional<crypto::Digest> digest{};  // written once, under `hashed`, unless it came with the bytes
};

ModuleBytes::ModuleBytes(std::string bytes) : state_(std::make_shared<State>()) {
  state_->size = bytes.size();
  state_->bytes = std::move(bytes);
}

ModuleBytes::ModuleBytes(std::string bytes, const crypto::Digest& digest) : ModuleBytes(std::move(bytes)) {
  state_->digest = digest;
}

ModuleBytes::ModuleBytes(const crypto::Digest& digest, std::uint64_t size, BinaryKind kind,
                         std::optional<std::string> package_section, Read read)
    : state_(std::make_shared<State>()) {
  state_->kind = kind;
  state_->size = size;
  state_->read = std::move(read);
  state_->section = std::move(package_section);
  state_->digest = digest;
}

const crypto::Digest& ModuleBytes::digest() const {
  std::call_once(state_->hashed, [&] {
    if (!state_->digest) state_->digest = crypto::sha256(state_->bytes);
  });
  return *state_->digest;
}

std::uint64_t ModuleBytes::size() const { return state_->size; }

Result<BinaryKind> ModuleBytes::kind(std::string_view name) const {
  if (state_->read) return state_->kind;
  return binary_kind(std::as_bytes(std::span(state_->bytes)), name);
}

Result<std::optional<std::string_view>> ModuleBytes::package_section(std::string_view name) const {
  if (!state_->read) return custom_section(std::as_bytes(std::span(state_->bytes)), name, kPackageSection);
  return state_->section ? std::optional<std::string_view>(*state_->section) : std::nullopt;
}

Result<std::shared_ptr<const std::string>> ModuleBytes::bytes() const {
  if (!state_->read) return std::shared_ptr<const std::string>(state_, &state_->bytes);
  MIST_TRY(std::string read, state_->read());
  return std::make_shared<const std::string>(std::move(read));
}

}  // namespace mist::wasm
