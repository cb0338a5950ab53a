#include "wasm/snapshot.h"

#include <mist_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/handle.h"
#include "base/text.h"
#include "wasm/binary.h"
#include "wasm/instance.h"

namespace mist::wasm {
namespace {

constexpr std::string_view kInitialize = "_initialize";
// wasmtime-wizer leaves the export of this name out; no module has it.
constexpr std::string_view kNoFunction = "mistletoe.none";
// Prefix of the exports by which wasmtime-wizer looks at memories and globals.
constexpr std::string_view kInstrumentation = "__wizer_";

class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { mist_bytes_free(bytes_); }
  mist_bytes* out() { return &bytes_; }
  std::span<const std::byte> view() const {
    return {reinterpret_cast<const std::byte*>(bytes_.data), bytes_.len};
  }
  std::string text() const { return {reinterpret_cast<const char*>(bytes_.data), bytes_.len}; }

 private:
  mist_bytes bytes_{nullptr, 0};
};

using Text = Handle<char, &mist_string_free>;

// The instance between the two halves of a snapshot.
struct Preparation {
  Runtime& runtime;
  std::string name;
  const SnapshotOptions& options;
  const Context& context;
  std::optional<Instance> instance = std::nullopt;
  std::optional<Error> failure = std::nullopt;

  Status run(std::span<const std::byte> wasm);

  // Called by mist_snapshot; nothing may be thrown through it.
  static bool run_c(void* self, const std::uint8_t* wasm, std::size_t size) noexcept;
  static bool global_c(void* self, const char* name, std::size_t size, std::uint8_t* bits) noexcept;
  static const std::uint8_t* memory_c(void* self, const char* name, std::size_t size,
                                      std::size_t* bytes) noexcept;
};

Status ended_early(const CallResult& result, std::string_view name, std::string_view function) {
  if (!result.exit_code) return {};
  return error(ErrorKind::Invalid, "{} can't be prepared: it ended with exit code {} in {}", name,
               *result.exit_code, function);
}

Result<Instance> prepared_instance(const Module& module, const SnapshotOptions& options,
                                   const Context& context) {
  InstanceOptions start;
  start.system.files = options.files;
  if (!start.system.files) {
    // Runtimes look for /package once, at their start: what is there then is what they will find.
    MIST_TRY(FileTree empty, FileTree::make({}));
    start.system.files = std::make_shared<const FileTree>(std::move(empty));
  }
  start.limits = options.limits;
  MIST_TRY(Instance instance, Instance::create(module, std::move(start), context));
  for (const std::string_view function : {kInitialize, std::string_view(options.function)}) {
    if (function == kInitialize && module.function(kInitialize) == nullptr) continue;
    MIST_TRY(const CallResult result, instance.call(function));
    MIST_TRY_VOID(ended_early(result, module.name(), function));
  }
  return instance;
}

Status Preparation::run(std::span<const std::byte> wasm) {
  MIST_TRY(const Module module, runtime.load(wasm, name));
  MIST_TRY(instance, prepared_instance(module, options, context));
  return {};
}

bool Preparation::run_c(void* self, const std::uint8_t* wasm, std::size_t size) noexcept {
  auto& preparation = *static_cast<Preparation*>(self);
  Status status = preparation.run(std::as_bytes(std::span(wasm, size)));
  if (!status.ok()) preparation.failure = std::move(status).error();
  return !preparation.failure;
}

bool Preparation::global_c(void* self, const char* name, std::size_t size, std::uint8_t* bits) noexcept {
  const auto value = static_cast<Preparation*>(self)->instance->global_bits({name, size});
  if (value) std::memcpy(bits, value->data(), value->size());
  return value.has_value();
}

const std::uint8_t* Preparation::memory_c(void* self, const char* name, std::size_t size,
                                          std::size_t* bytes) noexcept {
  const auto memory = static_cast<Preparation*>(self)->instance->memory_bytes({name, size});
  *bytes = memory.size();
  return reinterpret_cast<const std::uint8_t*>(memory.data());
}

}  // namespace

namespace {

Result<std::string> merged_segments(std::string_view wasm, std::string_view name) {
  Bytes merged;
  if (const Text problem(mist_merge_data_segments(reinterpret_cast<const std::uint8_t*>(wasm.data()),
                                                  wasm.size(), merged.out()));
      problem)
    return error(ErrorKind::Invalid, "{} can't be prepared", name).with_because(problem.get());
  return merged.text();
}

bool keep_c(void* self, const std::uint8_t* wasm, std::size_t size) noexcept {
  *static_cast<std::string*>(self) = {reinterpret_cast<const char*>(wasm), size};
  return false;  // nothing is to be run
}

// The module as wasmtime-wizer has it run. Once its instrumentation is taken off, a module like this is
// instrumented to the same bytes, and so its compiled code is that of the module itself.
std::string instrumented(std::string_view wasm) {
  std::string kept;
  Bytes nothing;
  const Text stopped(mist_snapshot(
      reinterpret_cast<const std::uint8_t*>(wasm.data()), wasm.size(), kNoFunction.data(), kNoFunction.size(),
      {.env = &kept, .run = &keep_c, .global = nullptr, .memory = nullptr}, nothing.out()));
  return kept;
}

}  // namespace

Result<std::string> prepare_module(Runtime& runtime, std::span<const std::byte> wasm, std::string_view name,
                                   const SnapshotOptions& options, const Context& context) {
  MIST_TRY(const std::string plain, without_exports(wasm, name, kInstrumentation));
  MIST_TRY(const std::string merged, merged_segments(plain, name));
  Preparation preparation{runtime, std::string(name), options, context};
  const std::string_view dropped = options.again == PrepareAgain::Yes ? kNoFunction : options.function;
  Bytes prepared;
  const Text problem(mist_snapshot(reinterpret_cast<const std::uint8_t*>(merged.data()), merged.size(),
                                   dropped.data(), dropped.size(),
                                   {.env = &preparation,
                                    .run = &Preparation::run_c,
                                    .global = &Preparation::global_c,
                                    .memory = &Preparation::memory_c},
                                   prepared.out()));
  if (preparation.failure)
    return std::move(*preparation.failure).with_frame(fmt::format("while preparing {}", name));
  if (problem)
    return error(ErrorKind::Invalid, "{} can't be prepared", name)
        .with_because(escape_controls(problem.get(), true));
  if (options.again == PrepareAgain::No) return prepared.text();
  MIST_TRY(const std::string again, merged_segments(prepared.text(), name));
  return instrumented(again);
}

namespace {

constexpr std::size_t kPage = 4096;

// The pages of `now` that differ from `before`, which was smaller or as large; what it lacks was zero.
std::vector<StartImage::Page> changed_pages(std::span<const std::byte> before,
                                            std::span<const std::byte> now) {
  static constexpr std::array<std::byte, kPage> kZeros{};
  std::vector<StartImage::Page> changed;
  for (std::size_t at = 0; at < now.size(); at += kPage) {
    const auto page = now.subspan(at, std::min(kPage, now.size() - at));
    const std::byte* const old = at + page.size() <= before.size() ? before.data() + at : kZeros.data();
    if (std::memcmp(page.data(), old, page.size()) == 0) continue;
    if (changed.empty() || changed.back().offset + changed.back().bytes.size() != at)
      changed.push_back({at, {}});
    changed.back().bytes.insert(changed.back().bytes.end(), page.begin(), page.end());
  }
  return changed;
}

}  // namespace

Result<StartImage> StartImage::make(const Module& module, const SnapshotOptions& options,
                                    const Context& context) {
  StartImage image;
  std::vector<std::string> globals;
  for (const Export& each : module.exports()) {
    if (!each.name.starts_with(kInstrumentation) || each.function) continue;
    if (each.is_memory && !image.memory_.empty())
      return error(ErrorKind::Invalid, "{} has several memories", module.name());
    if (each.is_memory)
      image.memory_ = each.name;
    else
      globals.push_back(each.name);
  }
  if (image.memory_.empty())
    return error(ErrorKind::Invalid, "{} isn't prepared to be prepared again", module.name());
  MIST_TRY(Instance fresh,
           Instance::create(module, {.system = {}, .input = {}, .limits = options.limits}, context));
  MIST_TRY(Instance prepared, prepared_instance(module, options, context));
  const std::span<const std::byte> now = prepared.memory_bytes(image.memory_);
  image.memory_size_ = now.size();
  image.pages_ = changed_pages(fresh.memory_bytes(image.memory_), now);
  for (std::string& name : globals) {
    const auto bits = prepared.global_bits(name);
    if (!bits) return error(ErrorKind::Invalid, "{} has a global that can't be kept", module.name());
    if (bits != fresh.global_bits(name)) image.globals_.push_back({std::move(name), *bits});
  }
  return image;
}

std::size_t StartImage::bytes() const {
  std::size_t all = sizeof *this;
  for (const Page& each : pages_) all += sizeof each + each.bytes.capacity();
  return all;
}

}  // namespace mist::wasm
