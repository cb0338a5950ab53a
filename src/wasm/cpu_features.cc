#include "wasm/cpu_features.h"

#include <fmt/format.h>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

namespace mist::wasm {

std::string cpu_features() {
#if defined(__x86_64__)
  std::string text = "x86-64";
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  // Leaf 1: only ecx and edx, since ebx tells which core this is.
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) text += fmt::format(" {:x} {:x}", c, d);
  constexpr unsigned kOsSavesExtendedState = 1U << 27;
  if ((c & kOsSavesExtendedState) != 0) {
    // Which registers the kernel saves: without that, AVX is there and can't be used.
    unsigned low = 0;
    unsigned high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    text += fmt::format(" {:x}", low);
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) text += fmt::format(" {:x} {:x} {:x}", b, c, d);
  if (__get_cpuid(0x80000001, &a, &b, &c, &d) != 0) text += fmt::format(" {:x} {:x}", c, d);
  return text;
#else
  return fmt::format("{:x} {:x}", ::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2));
#endif
}

}  // namespace mist::wasm
