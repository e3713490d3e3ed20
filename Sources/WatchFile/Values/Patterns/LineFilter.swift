/// `Include=` and `Exclude=` of a descriptor. Not to be shared between threads.
package final class LineFilter {
    private let include: [LinePattern]
    private let exclude: [LinePattern]

    /// `nil`: it lets everything through.
    package init?(_ trigger: DescriptorTrigger) {
        guard !trigger.include.isEmpty || !trigger.exclude.isEmpty else { return nil }
        // They were compiled when the file was read.
        include = trigger.include.compactMap { try? LinePattern($0) }
        exclude = trigger.exclude.compactMap { try? LinePattern($0) }
    }

    /// The values of `%1` to `%9`, empty without `Include=`; `nil`: the line is refused.
    package func captures(_ line: [UInt8]) -> [[UInt8]]? {
        if exclude.contains(where: { $0.match(line) != nil }) { return nil }
        guard !include.isEmpty else { return [] }
        for pattern in include {
            if let captures = pattern.match(line) { return captures }
        }
        return nil
    }

    /// Why a line is refused, in words; `nil`: it is not.
    package func refusal(of line: [UInt8]) -> String? {
        guard captures(line) == nil else { return nil }
        return exclude.contains { $0.match(line) != nil } ? "Exclude= matches it" : "no Include= matches it"
    }
}
