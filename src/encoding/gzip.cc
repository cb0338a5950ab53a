#include "encoding/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace mist::encoding {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: the largest window, in gzip's format
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();

/// Owns what deflateInit2 or inflateInit2 made.
class Stream {
 public:
  explicit Stream(int (*end)(z_streamp)) : end_(end) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (ready_) end_(&stream_);
  }
  bool ready(int code) { return ready_ = code == Z_OK; }
  z_stream& raw() { return stream_; }

  /// Gives zlib the next part of `bytes`, which it never writes to.
  void feed(std::string_view& bytes) {
    if (stream_.avail_in != 0) return;
    const std::size_t count = std::min(bytes.size(), kMostAtOnce);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(count);
    bytes.remove_prefix(count);
  }

 private:
  z_stream stream_{};
  int (*end_)(z_streamp);
  bool ready_ = false;
};

using Buffer = std::array<char, std::size_t{64} << 10>;

void point_at(z_stream& stream, Buffer& buffer) {
  stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream.avail_out = static_cast<uInt>(buffer.size());
}

}  // namespace

Result<std::string> gzip(std::string_view bytes) {
  Stream stream(deflateEnd);
  constexpr int kMemoryLevel = 9;
  if (!stream.ready(deflateInit2(&stream.raw(), Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                                 Z_DEFAULT_STRATEGY)))
    return error(ErrorKind::Internal, "not enough memory to compress {} bytes", bytes.size());
  gz_header header{};
  header.os = 255;  // unknown
  deflateSetHeader(&stream.raw(), &header);
  std::string out;
  Buffer buffer;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    stream.feed(bytes);
    point_at(stream.raw(), buffer);
    code = deflate(&stream.raw(), bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return error(ErrorKind::Internal, "cannot compress: zlib answers {}", code);
    out.append(buffer.data(), buffer.size() - stream.raw().avail_out);
  }
  return out;
}

Result<std::string> gunzip(std::string_view bytes, std::size_t limit) {
  const auto invalid = [](std::string_view why) {
    return error(ErrorKind::Invalid, "cannot unpack gzip data: {}", why);
  };
  Stream stream(inflateEnd);
  if (!stream.ready(inflateInit2(&stream.raw(), kGzipWindow)))
    return error(ErrorKind::Internal, "not enough memory to unpack gzip data");
  std::string out;
  Buffer buffer;
  while (true) {
    stream.feed(bytes);
    point_at(stream.raw(), buffer);
    const int code = inflate(&stream.raw(), Z_NO_FLUSH);
    const std::size_t made = buffer.size() - stream.raw().avail_out;
    if (made > limit - out.size())
      return error(ErrorKind::Invalid, "gzip data unpacks to more than the limit of {} bytes", limit);
    out.append(buffer.data(), made);
    if (code == Z_STREAM_END) {
      if (stream.raw().avail_in == 0 && bytes.empty()) return out;
      inflateReset(&stream.raw());  // RFC 1952: members simply follow one another
    } else if (code == Z_BUF_ERROR ||
               (code == Z_OK && made == 0 && stream.raw().avail_in == 0 && bytes.empty())) {
      return invalid("they end too early");
    } else if (code == Z_MEM_ERROR) {
      return error(ErrorKind::Internal, "not enough memory to unpack gzip data");
    } else if (code != Z_OK) {
      return invalid(stream.raw().msg == nullptr ? "they are damaged" : stream.raw().msg);
    }
  }
}

}  // namespace mist::encoding
