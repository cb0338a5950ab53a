// Takes the place of kustomize's file of this name when its tests run (see ../../../record.sh). There, it compiles plugins
// from kustomize's own source tree, which the module doesn't have; the built-in ones are linked in anyway.

package kusttest_test

import "testing"

type pluginTestEnv struct{}

func newPluginTestEnv(*testing.T) *pluginTestEnv          { return &pluginTestEnv{} }
func (x *pluginTestEnv) set() *pluginTestEnv              { return x }
func (x *pluginTestEnv) reset()                           {}
func (x *pluginTestEnv) prepareGoPlugin(_, _, _ string)   {}
func (x *pluginTestEnv) prepareExecPlugin(_, _, _ string) {}
