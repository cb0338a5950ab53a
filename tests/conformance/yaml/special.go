package main

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// special holds what a text file can't show: odd bytes, encodings, sizes.
func special() []string {
	cases := []string{
		"", " ", "\n", "\r", "\r\n", "\t", "\n\n\n", "\ufeff", "\ufeffa: 1", "\ufeff---\na: 1", "a: 1\n\ufeffb: 2",
		"a: \ufeff", "\"\ufeff\"", "a: x\ufeffy", "---\n\ufeffa: 1", "---\n\ufeffa: 1\nb: 2", "--- # c\r\n\ufeffa:\r\n- b\r\n",
		"a: |\n  x\n  \ufeffy\n", "--- |\n\ufeffx\n", "a: \"x\n\ufeffy\"",
		"a: 1\r\nb:\r\n  - x\r\n  - y\r\n", "a: 1\rb: 2\r", "a: |\r\n  x\r\n  y\r\n", "a: >\r\n  x\r\n  y\r\n",
		"a: 'x\r\n  y'", "a: \"x\r\n  y\"", "a: |\r  x\r", "a: x\u0085b: y", "a: x\u2028b: y", "a: |\n  x\u2028  y\n",
		"a: \"x\u2028y\"", "a: 'x\u2029y'", "a: x\u2028  y", "- a\u0085- b", "a: |\n  x\u0085  y\n", "a: >\n  x\u2028  y\n",
		"\ta: 1", "a:\t1", "a: 1\t", "a: 1\t# c", "a:\n\t- b", "a:\n\tb: c", "a:\n  b: c\n\td: e", "- \ta", "-\ta", "-\t- a",
		"a: [\t1,\t2\t]", "a: {\tb: 1\t}", "{\n\ta: 1\n}", "[\n\ta,\n\tb\n]", "a: |\n\tx", "a: |\n  x\n\ty", "a: |\n  \tx\n",
		"a: b\n\tc", "a: 'b\n\tc'", "a: \"b\n\tc\"", "a:\n  \tb", "a: x\ty", "a\t: b", "? \ta", "?\ta", "a: \"\t\"", "\t", "\t\n",
		" \ta: 1", "# c\n\ta: 1", "\t# c\na: 1", "a: 1\n\t\nb: 2", "a: 1\n\t# c\nb: 2", "a:\n  - b\n\t\n  - c", "--- \ta", "---\ta",
		"a: b\x00c", "\x00", "a: 1\x00", "a: \x01", "a: \x7f", "a: \x1b[31m", "a: \u0080", "a: \u0085x", "a: \u00a0", "a: \"\x07\"",
		"a: \x80", "a: \xff", "a: \xc0\x80", "a: \xed\xa0\x80", "a: \xf4\x90\x80\x80", "a: \xf8\x88\x80\x80\x80", "a: \xe2\x82",
		"a: \xc3", "\xc3", "a: \xf0\x9f\x98", "a: \uffff", "a: \ufffe", "a: \ufffd", "a: \U0001F600", "\U0001F600: 1", "a: \U0010FFFF",
		"# \xff", "a: 1 # \x01", "\u00e9: \u00fc", "\u65e5\u672c: \u8a9e", "a: \u00e9\u00e8\nb: 1: 2",
		strings.Repeat("a", 1023) + ": 1", strings.Repeat("a", 1024) + ": 1", strings.Repeat("a", 1025) + ": 1",
		"\"" + strings.Repeat("a", 1020) + "\": 1", "\"" + strings.Repeat("a", 1030) + "\": 1",
		"{" + strings.Repeat("a", 1024) + ": 1}", "[" + strings.Repeat("a", 1030) + ": 1]", "{\"" + strings.Repeat("a", 1100) + "\": 1}",
		"? " + strings.Repeat("a", 1100) + "\n: 1", "a: " + strings.Repeat("x ", 300), "&" + strings.Repeat("a", 1100) + " b: 1",
		strings.Repeat("[", 100) + strings.Repeat("]", 100), strings.Repeat("{a: ", 100) + strings.Repeat("}", 100),
		strings.Repeat("- ", 100) + "a", strings.Repeat("[", 100), strings.Repeat("]", 3), strings.Repeat("? ", 20) + "a",
		deepBlock(100), deepBlock(500), strings.Repeat("- ", 500) + "a",
	}
	for _, order := range []string{"le", "be"} {
		for _, text := range []string{"a: 1\n", "a: \u00e9\U0001F600\n- x", "- a\n- b: [1, 2]\n", "", "a: \"x\\ud83d\""} {
			cases = append(cases, utf16Text(text, order))
		}
	}
	cases = append(cases, "\xff\xfea", "\xff\xfe\x00\xd8", "\xff\xfe\x00\xdc", "\xfe\xff\x00", "\xff\xfea\x00\x00\xd8b\x00")
	cases = append(cases, aliases()...)
	return cases
}

func deepBlock(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func utf16Text(text, order string) string {
	b := []byte{}
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		if order == "le" {
			b = append(b, byte(unit), byte(unit>>8))
		} else {
			b = append(b, byte(unit>>8), byte(unit))
		}
	}
	return string(b)
}

// aliases stands on both sides of go-yaml's alias limits.
func aliases() []string {
	var cases []string
	// With few decodes of its own, a document's aliases may be 99% of it.
	for _, count := range []int{50, 98, 99, 100, 101, 102, 120, 900, 1000} {
		cases = append(cases, "a: &a [1]\nb: ["+strings.TrimSuffix(strings.Repeat("*a,", count), ",")+"]\n")
	}
	for _, size := range []int{500, 990, 1100, 2000} {
		for _, count := range []int{2, 90, 99, 110} {
			cases = append(cases, "a: &a ["+strings.TrimSuffix(strings.Repeat("1,", size), ",")+"]\nb: ["+
				strings.TrimSuffix(strings.Repeat("*a,", count), ",")+"]\n")
		}
	}
	kept := cases[:0]
	for _, text := range cases {
		// What Go accepts is long, and each byte of it would be in the corpus.
		if r := answer(text, false); len(r.Result) < 3000 {
			kept = append(kept, text)
		}
	}
	cases = kept
	for _, levels := range []int{2, 3, 9, 20} {
		var b strings.Builder
		b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
		for i := 1; i < levels; i++ {
			fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
		}
		cases = append(cases, b.String())
	}
	return append(cases, "a: &a [*a]", "&a {a: *a}", "a: &a {b: {c: *a}}", "a: &a\n  <<: *a", "&a a: *a", "*a : 1", "a: *b", "a: &b 1\nc: *b",
		"&k a: 1\n*k : 2", "- &k a\n- *k : 2\n", "- &k [a]\n- *k : 2\n", "- &k {a: 1}\n- {*k : 2}\n", "a: &x 1\nb: &x 2\nc: *x", "- &n ~\n- *n : 1",
		"- &n .nan\n- {*n : 1}", "- &n .nan\n- *n", "- &n 18446744073709551615\n- *n", "- &t !!str 12\n- *t", "&a - b", "- &a\n- *a", "- &a\n  x: 1\n- *a")
}
