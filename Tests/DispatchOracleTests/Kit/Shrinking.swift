/// A shorter list of steps for which something still holds: takes out what is not needed, larger pieces first.
func shrunk<Step>(_ steps: [Step], while holds: ([Step]) throws -> Bool) rethrows -> [Step] {
    var steps = steps
    var size = max(1, steps.count / 2)
    while true {
        var index = 0
        var isShorter = false
        while index < steps.count {
            var fewer = steps
            fewer.removeSubrange(index..<min(index + size, steps.count))
            if try holds(fewer) {
                steps = fewer
                isShorter = true
            } else {
                index += size
            }
        }
        if size == 1, !isShorter { return steps }
        size = max(1, size / 2)
    }
}
