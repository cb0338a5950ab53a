#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <thread>

#include "base/text.h"
#include "testing/raw_connection.h"

namespace mist::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::unique_ptr<Server> server_on(std::string_view address = "127.0.0.1:0") {
  auto server = Server::listen(address, [](std::string_view path) {
    return path == "/there" ? Answer{.status = 200, .body = "yes\n"} : Answer{.status = 404, .body = "no\n"};
  });
  EXPECT_TRUE(server.ok()) << server.error().to_line();
  return server.ok() ? *std::move(server) : nullptr;
}

UniqueFd connected(const Server& server) {
  UniqueFd fd = mist::testing::connect_to(server.address());
  EXPECT_TRUE(fd);
  return fd;
}

// Sends that; everything that comes back until the server closes.
std::string said(const Server& server, std::string_view request) {
  const UniqueFd fd = connected(server);
  EXPECT_TRUE(mist::testing::send_all(fd, request));
  return mist::testing::read_all(fd);
}

TEST(Server, AnswersGetAndHead) {
  const auto server = server_on();
  const std::string get = said(*server, "GET /there?q=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(get, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(get.ends_with("\r\n\r\nyes\n"));
  const std::string head = said(*server, "HEAD /there HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  EXPECT_THAT(said(*server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
              StartsWith("HTTP/1.1 404 Not Found"));
  EXPECT_THAT(
      said(*server, "PUT /there HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
      StartsWith("HTTP/1.1 405 "));
}

TEST(Server, AnswersOneRequestOnAConnectionAndEndsIt) {
  const auto server = server_on();
  const std::string answer = said(*server, "GET /there HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\nyes\n"));
}

TEST(Server, EndsAConnectionThatSendsTooMuchOrNonsense) {
  const auto server = server_on();
  EXPECT_EQ(said(*server, "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"), "");
  EXPECT_EQ(said(*server, "\x16\x03\x01 hello\r\n\r\n"), "");
  EXPECT_EQ(said(*server, "POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x')), "");
}

TEST(Server, StaysThereForOthersBesideSilentClients) {
  const auto server = server_on();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connected(*server));
  EXPECT_THAT(said(*server, "GET /there HTTP/1.0\r\n\r\n"), HasSubstr("yes"));
}

TEST(Server, MakesRoomForANewConnectionByEndingTheOldest) {
  const auto server = server_on();
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connected(*server));
  EXPECT_THAT(said(*server, "GET /there HTTP/1.0\r\n\r\n"), HasSubstr("yes"));
  EXPECT_EQ(mist::testing::read_all(silent.front()), "");
  ASSERT_TRUE(mist::testing::send_all(silent.back(), "GET /there HTTP/1.0\r\n\r\n"));
  EXPECT_THAT(mist::testing::read_all(silent.back()), HasSubstr("yes"));
}

TEST(Server, SaysWhatIsWrongWithAnAddress) {
  const auto fails = [](std::string_view address) {
    const auto server = Server::listen(address, [](std::string_view) { return Answer(); });
    return server.ok() ? std::string() : server.error().to_line();
  };
  for (const std::string_view wrong :
       {"", "8080", "localhost:8080", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:8x"})
    EXPECT_THAT(fails(wrong), HasSubstr("is not an address to listen on")) << wrong;
  const auto server = server_on();
  EXPECT_THAT(fails(server->address()), HasSubstr("can't listen on 127.0.0.1:"));
}

TEST(Server, ListensOnEveryAddress) {
  const auto server = server_on(":0");
  EXPECT_THAT(said(*server, "GET /there HTTP/1.0\r\n\r\n"), HasSubstr("yes"));
}

// From now on, this thread and those that it starts live on a kernel without IPv6.
bool lose_ipv6() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(Server, ListensOnEveryAddressOfAMachineWithoutIpv6) {
  bool without = false;
  std::string answer;
  std::string refused;
  std::thread([&] {
    without = lose_ipv6();
    if (!without) return;
    if (const auto server = server_on(":0")) answer = said(*server, "GET /there HTTP/1.0\r\n\r\n");
    const auto named = Server::listen("[::]:0", [](std::string_view) { return Answer{}; });
    if (!named.ok()) refused = named.error().to_line();
  }).join();
  if (!without) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_THAT(answer, HasSubstr("yes"));
  EXPECT_THAT(refused, HasSubstr("can't listen on [::]:0")) << "it was asked for by name";
}

}  // namespace
}  // namespace mist::http
