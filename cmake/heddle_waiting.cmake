# Tests that mostly wait: three of them run at once, whichever are the next, beside tests that compute.

# As many of them as there are places in scripts/test_places.json, which scripts/run_tests gives to ctest. Those that
# take longest begin first: COST is about the seconds of one.
function(heddle_waits name cost)
  set_tests_properties(${name} PROPERTIES RESOURCE_GROUPS "waiting:1" COST ${cost})
endfunction()

# It waits, and no other such test may run meanwhile.
function(heddle_waits_alone name)
  set_tests_properties(${name} PROPERTIES RESOURCE_GROUPS "waiting:3" COST 100)
endfunction()
