#pragma once
// Helpers shared by the tests of wasm and abi. Header only; never included by product code.

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/event.h"
#include "wasm/runtime.h"
#include "wasm/wat_for_tests.h"

namespace mist::wasm {

/// Keeps what it is told. Any thread.
class RecordingEvents final : public EventSink {
 public:
  void message(const Message& event) override {
    const std::lock_guard lock(mutex_);
    messages_.push_back(event.text);
  }
  void began(const ActivityBegan& event) override {
    const std::lock_guard lock(mutex_);
    activities_.push_back(event.text);
  }
  void ended(const ActivityEnded&) override {}
  void object(const ObjectProgress&) override {}

  std::vector<std::string> take_messages() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }
  std::vector<std::string> take_activities() {
    const std::lock_guard lock(mutex_);
    return std::exchange(activities_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::vector<std::string> activities_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Stops the test program if `wat` is wrong: that is a defect of the test.
inline std::string assemble(std::string_view wat) {
  auto wasm = wat_to_wasm(wat);
  MIST_CHECK(wasm.ok(), "the test's WAT is wrong");
  return *std::move(wasm);
}

/// One runtime without cache for all tests of a program.
inline Runtime& shared_runtime() {
  static NullEventSink events;
  static Runtime runtime = [] {
    auto made = Runtime::create({}, events);
    MIST_CHECK(made.ok());
    return *std::move(made);
  }();
  return runtime;
}

inline Module module_of(std::string_view wat, std::string_view name = "guest") {
  auto module = shared_runtime().load(bytes_of(assemble(wat)), name);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().to_line());
  return *std::move(module);
}

}  // namespace mist::wasm
