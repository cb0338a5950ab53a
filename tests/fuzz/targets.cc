#include "targets.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace mist::fuzz {
namespace {

constexpr std::array kTargets{
    Target{"api_answer", api_answer},
    Target{"blueprint", blueprint},
    Target{"cbor", cbor},
    Target{"chart_index", chart_index},
    Target{"config", config},
    Target{"discovery", discovery},
    Target{"docker_config", docker_config},
    Target{"git_listing", git_listing},
    Target{"guest_document", guest_document},
    Target{"gzip", gzip},
    Target{"helm_ignore", helm_ignore},
    Target{"host_request", host_request},
    Target{"json", json},
    Target{"json_path", json_path},
    Target{"k3", k3},
    Target{"keyless", keyless},
    Target{"kubeconfig", kubeconfig},
    Target{"kustomization", kustomization},
    Target{"lock_file", lock_file},
    Target{"looked_up", looked_up},
    Target{"managed_fields", managed_fields},
    Target{"objects", objects},
    Target{"oci_answer", oci_answer},
    Target{"oci_manifest", oci_manifest},
    Target{"package_tree", package_tree},
    Target{"quantity", quantity},
    Target{"reference", reference},
    Target{"release_record", release_record},
    Target{"schema", schema},
    Target{"semver", semver},
    Target{"set_path", set_path},
    Target{"signing_answer", signing_answer},
    Target{"tar", tar},
    Target{"terminal", terminal},
    Target{"test_case", test_case},
    Target{"url", url},
    Target{"version_range", version_range},
    Target{"wasi", wasi},
    Target{"wasm_section", wasm_section},
    Target{"watch", watch},
    Target{"webauthn", webauthn},
    Target{"yaml", yaml},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(kTargets, name, &Target::name);
  return found == kTargets.end() ? nullptr : &*found;
}

void fail(std::string_view what, std::string_view detail) {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

void check_error(const Error& failure) {
  if (failure.message.empty()) fail("an error without message", failure.to_line());
  if (failure.kind == ErrorKind::Internal) fail("input counts as a defect of ours", failure.to_line());
}

std::uint8_t Input::byte() { return static_cast<std::uint8_t>(number(1)); }

std::uint64_t Input::number(std::size_t bytes) {
  std::uint64_t value = 0;
  const std::string_view part = take(bytes);
  for (std::size_t i = 0; i < part.size(); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(part[i])) << (8 * i);
  return value;
}

std::string_view Input::take(std::size_t bytes) {
  const std::string_view part = rest_.substr(0, bytes);
  rest_.remove_prefix(part.size());
  return part;
}

std::string_view Input::until(std::string_view separator) {
  const auto at = rest_.find(separator);
  const std::string_view part = rest_.substr(0, at);
  rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + separator.size());
  return part;
}

}  // namespace mist::fuzz
