package import WatchFile

/// `Include=` and `Exclude=` of a descriptor. Confined to its context.
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
}
