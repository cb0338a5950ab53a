#pragma once
// Modules that are small and cost the compiler much: for tests only.

#include <string>
#include <string_view>
#include <vector>

namespace mist::wasm {

inline std::string leb(std::size_t value) {
  std::string out;
  do {
    const auto low = static_cast<unsigned char>(value & 0x7f);
    value >>= 7;
    out.push_back(static_cast<char>(value != 0 ? low | 0x80 : low));
  } while (value != 0);
  return out;
}

inline std::string section(char id, const std::string& content) {
  return std::string(1, id) + leb(content.size()) + content;
}

/// A valid module of functions without parameters and results, with a memory.
inline std::string module_of_bodies(const std::vector<std::string>& bodies) {
  std::string types = leb(bodies.size()) + std::string(bodies.size(), '\0'), code = leb(bodies.size());
  for (const std::string& body : bodies) code += leb(body.size()) + body;
  return std::string("\0asm\1\0\0\0", 8) + section(1, std::string("\1\x60\0\0", 4)) + section(3, types) +
         section(5, std::string("\1\0\1", 3)) + section(10, code);
}

/// A function of `loops` loops over `locals` locals: each loop makes the compiler carry all of them.
inline std::string costly_body(std::size_t locals, std::size_t loops) {
  std::string body = leb(1) + leb(locals) + '\x7f';
  for (std::size_t i = 0; i < loops; ++i)
    body += std::string("\x03\x40\x20") + leb(i % locals) + std::string("\x0d\0", 2) + '\x20' +
            leb(i * 7 % locals) + '\x21' + leb((i * 13 + 1) % locals) + '\x0b';
  return body + '\x0b';
}

}  // namespace mist::wasm
