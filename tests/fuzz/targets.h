#pragma once
// The fuzz targets: for each reader of foreign bytes a function NAME in NAME_fuzz.cc, which takes any bytes
// and aborts through fail() when an invariant breaks. One program replays them all (replay_main.cc), and one
// searches with libFuzzer (search_main.cc). Pure functions of their bytes, or nothing that is found could be
// repeated.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"

namespace mist::fuzz {

struct Target {
  std::string_view name;
  void (*run)(std::string_view bytes);
};

std::span<const Target> targets();
/// Null: there is none of that name.
const Target* find_target(std::string_view name);

/// Prints both and aborts.
[[noreturn]] void fail(std::string_view what, std::string_view detail);

/// Fails unless the error has a message, and is of a kind that input may cause: Internal is a defect of ours.
void check_error(const Error& failure);

/// Parts of the bytes, for targets that take more than one thing. Ends in zeros and empty parts.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t byte();
  /// Little-endian.
  std::uint64_t number(std::size_t bytes);
  std::string_view take(std::size_t bytes);
  /// Up to the next newline, without it.
  std::string_view line() { return until("\n"); }
  std::string_view until(std::string_view separator);
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// In alphabetic order.
void api_answer(std::string_view bytes);
void blueprint(std::string_view bytes);
void cbor(std::string_view bytes);
void chart_index(std::string_view bytes);
void config(std::string_view bytes);
void discovery(std::string_view bytes);
void docker_config(std::string_view bytes);
void git_listing(std::string_view bytes);
void guest_document(std::string_view bytes);
void gzip(std::string_view bytes);
void helm_ignore(std::string_view bytes);
void host_request(std::string_view bytes);
void json(std::string_view bytes);
void json_path(std::string_view bytes);
void k3(std::string_view bytes);
void keyless(std::string_view bytes);
void kubeconfig(std::string_view bytes);
void kustomization(std::string_view bytes);
void lock_file(std::string_view bytes);
void looked_up(std::string_view bytes);
void managed_fields(std::string_view bytes);
void objects(std::string_view bytes);
void oci_answer(std::string_view bytes);
void oci_manifest(std::string_view bytes);
void package_tree(std::string_view bytes);
void quantity(std::string_view bytes);
void reference(std::string_view bytes);
void release_record(std::string_view bytes);
void schema(std::string_view bytes);
void semver(std::string_view bytes);
void set_path(std::string_view bytes);
void signing_answer(std::string_view bytes);
void tar(std::string_view bytes);
void terminal(std::string_view bytes);
void test_case(std::string_view bytes);
void url(std::string_view bytes);
void version_range(std::string_view bytes);
void wasi(std::string_view bytes);
void wasm_section(std::string_view bytes);
void watch(std::string_view bytes);
void webauthn(std::string_view bytes);
void yaml(std::string_view bytes);

}  // namespace mist::fuzz
