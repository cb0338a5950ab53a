#pragma once
// A PostgreSQL server of one test program, started when it is first asked for, of the distribution's
// programs, as a user without rights (the server refuses to run as root). It ends with the program, whichever
// way that ends. For tests alone; one thread.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "postgres/database.h"
#include "testing/temp_dir.h"

namespace mist::postgres {

// Where initdb and postgres are: the newest version's; empty: nowhere.
inline std::filesystem::path postgres_programs() {
  std::vector<std::filesystem::path> found;
  std::error_code failed;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", failed))
    if (std::filesystem::exists(version.path() / "bin/initdb", failed))
      found.push_back(version.path() / "bin");
  return found.empty() ? std::filesystem::path() : *std::ranges::max_element(found);
}

class TestServer {
 public:
  TestServer() {
    std::filesystem::permissions(dir_.path(), std::filesystem::perms(0755));
    std::filesystem::create_directory(data_.parent_path());
    if (::geteuid() == 0) {
      const ::passwd* const user = ::getpwnam("nobody");
      user_ = user == nullptr ? 65534 : user->pw_uid;
      EXPECT_EQ(::chown(data_.parent_path().c_str(), user_, user_), 0);
    }
    const ::pid_t made =
        start({"initdb", "--pgdata", data_, "--username", "catalog", "--auth", "trust", "--encoding", "UTF8",
               "--locale", "C.UTF-8", "--no-sync", "--no-instructions"});
    EXPECT_EQ(end_of(made), 0) << log();
    start();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() { stop(); }

  void start() {
    server_ = start({"postgres", "-D", data_, "-k", data_.parent_path(), "-c", "listen_addresses=", "-c",
                     "fsync=off", "-c", "max_connections=200"});
    using namespace std::chrono_literals;
    for (int tries = 0; tries < 600; ++tries, std::this_thread::sleep_for(50ms))
      if (Database::open(url("")).ok()) return;
    ADD_FAILURE() << "no server: " << log();
  }
  // As a crash does.
  void stop() {
    if (server_ <= 0) return;
    ::kill(server_, SIGQUIT);
    end_of(server_);
    server_ = 0;
  }

  // A schema of its own; the next call gives another one.
  Url fresh() {
    const std::string name = fmt::format("t{}", ++schemas_);
    auto database = Database::open(url(""));
    EXPECT_TRUE(database.ok()) << database.error().to_line();
    EXPECT_TRUE((*database)->script("CREATE SCHEMA " + name).ok());
    return url("&options=-csearch_path%3D" + name);
  }
  Url url(const std::string& parameters) const {
    return *Url::parse(SecretString(
        fmt::format("postgresql://catalog@/postgres?host={}{}", data_.parent_path().string(), parameters)));
  }
  std::filesystem::path data() const { return data_; }

  static TestServer& of_program() {
    static TestServer server;
    return server;
  }

 private:
  ::pid_t start(const std::vector<std::string>& words) const {
    const std::string program = (postgres_programs() / words[0]).string();
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string log_file = log_.string();
    const ::pid_t parent = ::getpid();
    const ::pid_t child = ::fork();
    if (child != 0) return child;
    const int out = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const bool ready = ::dup2(out, 1) == 1 && ::dup2(out, 2) == 2 && ::chdir("/") == 0 &&
                       (user_ == 0 || (::setgid(user_) == 0 && ::setuid(user_) == 0)) &&
                       ::prctl(PR_SET_PDEATHSIG, SIGQUIT) == 0 && ::getppid() == parent;
    if (ready) ::execv(program.c_str(), arguments.data());
    ::_exit(127);
  }
  static int end_of(::pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }
  std::string log() const {
    std::ifstream file(log_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  mist::testing::TempDir dir_;
  const std::filesystem::path data_ = dir_.path() / "server/data";
  const std::filesystem::path log_ = dir_.path() / "log";
  ::uid_t user_ = 0;
  ::pid_t server_ = 0;
  int schemas_ = 0;
};

}  // namespace mist::postgres
