#include "wasm/cpu_features.h"

#include <fmt/format.h>

#if defined(__x86_64__)
#if defined(__clang__)
// The header is one of C, and clang's <stdbool.h> doesn't say this to strict C++.
#define _Bool bool  // NOLINT(bugprone-reserved-identifier,cppcoreguidelines-macro-usage)
#endif
#include <sys/platform/x86.h>
#else
#include <sys/auxv.h>
#endif

namespace mist::wasm {

std::string cpu_features() {
#if defined(__x86_64__)
  // As the C library found it when the process began: asking the processor again costs tens of microseconds
  // in a virtual machine, which is left for it. "Active" is also what the kernel saves the registers of.
  std::string text = "x86-64";
  for (const unsigned leaf : {CPUID_INDEX_1, CPUID_INDEX_7, CPUID_INDEX_80000001}) {
    const cpuid_feature& found = *__x86_get_cpuid_feature_leaf(leaf);
    for (const auto reg : {cpuid_register_index_ebx, cpuid_register_index_ecx, cpuid_register_index_edx}) {
      // There it tells which core this is.
      if (leaf == CPUID_INDEX_1 && reg == cpuid_register_index_ebx) continue;
      text += fmt::format(" {:x}/{:x}", found.cpuid_array[reg], found.active_array[reg]);
    }
  }
  return text;
#else
  return fmt::format("{:x} {:x}", ::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2));
#endif
}

}  // namespace mist::wasm
