package mistletoe

import "fmt"

// Debugf shows what helps to understand a package that misbehaves.
func Debugf(format string, values ...any) { line("debug", format, values) }

// Infof shows what the user may want to know.
func Infof(format string, values ...any) { line("info", format, values) }

// Warnf shows what the user should know.
func Warnf(format string, values ...any) { line("warn", format, values) }

func line(level, format string, values []any) {
	// A package doesn't fail because nobody listens.
	_ = ask(map[string]any{"op": "log", "level": level, "message": fmt.Sprintf(format, values...)}, nil)
}
