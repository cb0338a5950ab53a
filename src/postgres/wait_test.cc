#include "postgres/wait.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/handle.h"
#include "postgres/libpq.h"

namespace mist::postgres {
namespace {

using namespace std::chrono_literals;

// A connection whose socket never shows anything.
class QuietConnection {
 public:
  QuietConnection() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::pipe(ends.data()), 0);
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
    socket = ends[0];
    reads = 0;
  }
  static Libpq functions() {
    Libpq pq{};
    pq.PQflush = [](PGconn*) { return 0; };
    pq.PQsocket = [](const PGconn*) { return socket; };
    pq.PQisBusy = [](PGconn*) { return reads < reads_of_answer ? 1 : 0; };
    pq.PQconsumeInput = [](PGconn*) {
      ++reads;
      return 1;
    };
    return pq;
  }

  static inline int socket = -1;
  static inline int reads = 0;
  static inline int reads_of_answer = 0;  // after how many there is one

 private:
  UniqueFd read_, write_;
};

TEST(WaitForResult, WhatTlsHasReadAlreadyIsFoundBeforeTheLimit) {
  const QuietConnection connection;
  QuietConnection::reads_of_answer = 2;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(wait_for_result(QuietConnection::functions(), nullptr, 30s));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 15s);
}

TEST(WaitForResult, AServerIsSilentAfterTheWholeLimit) {
  const QuietConnection connection;
  QuietConnection::reads_of_answer = 1'000'000;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(wait_for_result(QuietConnection::functions(), nullptr, 500ms));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 500ms);
  EXPECT_GE(QuietConnection::reads, 2);
}

}  // namespace
}  // namespace mist::postgres
