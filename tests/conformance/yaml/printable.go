package main

import (
	"encoding/json"
	"math/rand"
	"strings"
)

// printable holds JSON values whose YAML form has to be right to the byte: quotes, literals, folding.
func printable() [][]byte {
	long := "the quick brown fox jumps over the lazy dog "
	texts := []string{
		"", " ", "  ", "a", " a", "a ", "a b", "a  b", "\n", "\n\n", "a\n", "a\n\n", "\na", "\n\na\n", "a\nb", "a\nb\n", "a\n\nb\n", " a\nb", "a\n b\n", "a\n  b\nc", "a \nb", "a\nb ", "a\n ", "a\n \n", "\n a",
		"\ta", "a\tb", "a\t", "a\n\tb\n", "a\rb", "a\r\nb", "a\u0085b", "a\u2028b", "a\u2028", "\u2028a", "a\nb\u2028c\n", "a\u2028 b", "a'\u2028b", "\u00a0", "\u00e9", "\u65e5\u672c\u8a9e", "\U0001F600", "a\nb\U0001F600", "\ufeff", "x\ufeff", "\ufffe", "\ufffd", "\x00", "\x07", "\x1b[0m", "\x7f", "\u0080",
		"'", "''", "\"", "\\", "a'b", "a\"b", "'a'", "\"a\"", "a: b", "a:b", "a:", ":a", ":", "a #b", "a# b", "#a", "# a", "- a", "-a", "-", "--", "---", "--- a", "---a", "...", "... a", "? a", "?a", "?", "{a}", "[a]", "{", "}", "[", "]", ",", ", a", "a, b",
		"a{", "a}", "a[", "a]", "a?", "a,", "&a", "*a", "!a", "!!str a", "%a", "@a", "`a", "|", "|a", ">", ">a", "=", "<<", "a|", "null", "~", "true", "yes", "n", "1", "1.5", "0x1", "1_000", "1:30", "1:60", "12:30:45.5", "+1:2", "2001-01-01", "2001-01-01T00:00:00Z", ".inf", "1e3", "1e400",
		"08", "0o7", "0b1", "+1", "-", "- ", "a\\n", long, long + long + long, strings.TrimSpace(long + long + long), "x: " + long + long, strings.Repeat("a", 200), strings.Repeat("a", 79) + " b", strings.Repeat("a", 80) + " b", strings.Repeat("a", 81) + " b  c d",
		long + long + "  " + long + "\t" + long, "\"" + long + long + "\"", "'" + long + long, "#" + long + long + " " + long, strings.Repeat("\u00e9 ", 120) + "x", long + long + "\n" + long + long, "\t" + long + long + long, "\t" + strings.Repeat("a  ", 60), "\t" + strings.Repeat("a", 90) + " ",
		strings.Repeat("k", 128), strings.Repeat("k", 129), strings.Repeat("k", 300), strings.Repeat("k k ", 60) + "k", "k\nl", "k\nl\n", " k\nl", "k\u2028l", "http://a/b?c=d#e", "{{ .Values.a }}", "a\n{{ b }}\n", "*.example.com", "/metrics", "100m", "1Gi", "v1", "1.2.3", "sha256:abc",
	}
	var values [][]byte
	add := func(value any) {
		text, err := json.Marshal(value)
		if err != nil {
			fail(err)
		}
		values = append(values, text)
	}
	for _, text := range texts {
		add(text)
		add([]any{text, map[string]any{"k": text}})
		add(map[string]any{text: []any{text, []any{text}}, "z": map[string]any{"y": map[string]any{"x": text}}})
		add(map[string]any{"o": map[string]any{text: map[string]any{text: 1}, "p": []any{map[string]any{text: text, "q": []any{}}}}})
	}
	for _, number := range []any{0, -1, 1.5, 1e20, 1e21, 1e-7, 123456.5, 1234567.5, 1e15, 0.1, 9223372036854775807, uint64(18446744073709551615), true, nil, []any{}, map[string]any{}, []any{[]any{}, map[string]any{}, nil},
		[]any{[]any{[]any{1, 2}, 3}, []any{4}}, map[string]any{"a": []any{}, "b": map[string]any{}, "c": nil}, map[string]any{strings.Repeat("k", 130): []any{1, 2}, strings.Repeat("l", 130): map[string]any{"a": 1, "b": 2}, strings.Repeat("m", 130): nil}} {
		add(number)
		add(map[string]any{"a": number, "b": []any{number}})
	}
	random := rand.New(rand.NewSource(1))
	for range 150 {
		add(randomValue(random, 4, texts))
	}
	return values
}

func randomValue(random *rand.Rand, depth int, texts []string) any {
	switch kind := random.Intn(8); {
	case depth > 0 && kind < 2:
		list := []any{}
		for range random.Intn(4) {
			list = append(list, randomValue(random, depth-1, texts))
		}
		return list
	case depth > 0 && kind < 5:
		object := map[string]any{}
		for range random.Intn(4) {
			object[texts[random.Intn(len(texts))]] = randomValue(random, depth-1, texts)
		}
		return object
	case kind == 5:
		return random.Int63() - random.Int63()
	default:
		return texts[random.Intn(len(texts))]
	}
}
