#include "http/txt_records.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace mist::http {
namespace {

constexpr std::size_t kLongestAnswer = 16'384;
constexpr std::size_t kHeaderBytes = 12;
constexpr unsigned kTxt = 16;
constexpr int kSecondsOfTry = 2;
constexpr int kTries = 2;

// Reads forwards, and never beyond the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool skip(std::size_t count) {
    if (rest_.size() < count) return false;
    rest_.remove_prefix(count);
    return true;
  }
  bool number(unsigned& value) {
    if (rest_.size() < 2) return false;
    value = static_cast<unsigned>(byte(0) << 8 | byte(1));
    return skip(2);
  }
  // Names mean nothing here, so their pointers are not followed.
  bool skip_name() {
    while (!rest_.empty()) {
      const unsigned length = byte(0);
      if (length >= 0xc0) return skip(2);
      if (length >= 0x40 || !skip(1 + length)) return false;
      if (length == 0) return true;
    }
    return false;
  }
  bool take(std::size_t count, std::string_view& text) {
    text = rest_.substr(0, count);
    return skip(count);
  }
  bool length(std::size_t& value) {
    if (rest_.empty()) return false;
    value = byte(0);
    return skip(1);
  }
  bool at_end() const { return rest_.empty(); }

 private:
  unsigned byte(std::size_t at) const { return static_cast<unsigned char>(rest_[at]); }
  std::string_view rest_;
};

Error damaged() { return error(ErrorKind::Invalid, "the answer of the name server is damaged"); }

// Nullopt: it is none.
std::optional<sockaddr_in> ipv4_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [last, failed] = std::from_chars(text.data() + colon + 1, end, port);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (failed != std::errc() || last != end ||
      ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1)
    return std::nullopt;
  return address;
}

Result<std::vector<std::string>> resolve_txt(const std::string& name,
                                             const std::optional<sockaddr_in>& server) {
  struct __res_state state{};
  if (::res_ninit(&state) != 0) return error(ErrorKind::Retryable, "the name server isn't known");
  state.retrans = kSecondsOfTry;
  state.retry = kTries;
  if (server) {
    state.nscount = 1;
    state.nsaddr_list[0] = *server;
  }
  std::array<unsigned char, kLongestAnswer> bytes{};
  const int size =
      ::res_nquery(&state, name.c_str(), ns_c_in, ns_t_txt, bytes.data(), static_cast<int>(bytes.size()));
  const int failure = state.res_h_errno;
  ::res_nclose(&state);
  if (size < 0 && (failure == HOST_NOT_FOUND || failure == NO_DATA))
    return error(ErrorKind::NotFound, "there is no TXT record {}", escape_controls(name));
  if (size < 0) return error(ErrorKind::Retryable, "no name server answered for {}", escape_controls(name));
  return txt_records_in(
      {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), static_cast<std::size_t>(size))});
}

}  // namespace

Result<std::vector<std::string>> txt_records_in(std::string_view answer) {
  Reader reader(answer.substr(0, kLongestAnswer));
  unsigned questions = 0;
  unsigned answers = 0;
  if (!reader.skip(4) || !reader.number(questions) || !reader.number(answers) ||
      !reader.skip(kHeaderBytes - 8))
    return damaged();
  for (unsigned i = 0; i < questions; ++i)
    if (!reader.skip_name() || !reader.skip(4)) return damaged();
  std::vector<std::string> texts;
  for (unsigned i = 0; i < answers; ++i) {
    unsigned type = 0;
    unsigned size = 0;
    std::string_view data;
    if (!reader.skip_name() || !reader.number(type) || !reader.skip(6) || !reader.number(size) ||
        !reader.take(size, data))
      return damaged();
    if (type != kTxt) continue;
    // A text is in pieces of at most 255 bytes.
    std::string text;
    for (Reader pieces(data); !pieces.at_end();) {
      std::size_t length = 0;
      std::string_view piece;
      if (!pieces.length(length) || !pieces.take(length, piece)) return damaged();
      text += piece;
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<TxtResolver> txt_resolver(const std::string& server) {
  std::optional<sockaddr_in> address;
  if (!server.empty()) {
    address = ipv4_endpoint(server);
    if (!address)
      return error(ErrorKind::Invalid, "{} is no address of a name server", escape_controls(server))
          .with_hint("192.0.2.1:53, say");
  }
  return TxtResolver([address](const std::string& name) { return resolve_txt(name, address); });
}

}  // namespace mist::http
