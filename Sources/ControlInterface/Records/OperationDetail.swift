package import JSON
import Varlink

/// Everything about one operation; on the wire the summary's members and these stand side by side.
package struct OperationDetail: Codable, Equatable, Sendable {
    enum CodingKeys: String, CodingKey {
        case events, runs, output, withheld
        case eventsOmitted = "events_omitted"
        case outputBase64 = "output_base64"
        case outputCut = "output_cut"
        case outputBytes = "output_bytes"
        case startedOperations = "started_operations"
    }

    package var summary: OperationSummary
    /// As the handler is told them; at most `Manager.maximumEventsShown`, the newest.
    package var events: [JSONValue]
    package var eventsOmitted: Int
    /// Its attempts, the first one first.
    package var runs: [OperationRun]
    /// The end of what the last run wrote, or has written so far.
    package var output: String?
    /// The bytes, where they are not UTF-8.
    package var outputBase64: String?
    /// True: that is as much as watchd keeps of a run.
    package var outputCut: Bool?
    /// Bytes that the last run has written in all; `nil`: not known any more.
    package var outputBytes: Int?
    /// True: what it was told and wrote is not for the caller.
    package var withheld: Bool?
    /// Operations it started by `On…=` and `Emit=`.
    package var startedOperations: [Int]

    package init(
        summary: OperationSummary, events: [JSONValue], eventsOmitted: Int = 0, runs: [OperationRun] = [],
        output: String? = nil, outputBase64: String? = nil, startedOperations: [Int] = []
    ) {
        self.summary = summary
        self.events = events
        self.eventsOmitted = eventsOmitted
        self.runs = runs
        self.output = output
        self.outputBase64 = outputBase64
        self.startedOperations = startedOperations
    }

    package init(from decoder: any Decoder) throws {
        summary = try OperationSummary(from: decoder)
        let members = try decoder.container(keyedBy: CodingKeys.self)
        events = try members.decode([JSONValue].self, forKey: .events)
        eventsOmitted = try members.decode(Int.self, forKey: .eventsOmitted)
        runs = try members.decode([OperationRun].self, forKey: .runs)
        output = try members.decodeIfPresent(String.self, forKey: .output)
        outputBase64 = try members.decodeIfPresent(String.self, forKey: .outputBase64)
        outputCut = try members.decodeIfPresent(Bool.self, forKey: .outputCut)
        outputBytes = try members.decodeIfPresent(Int.self, forKey: .outputBytes)
        withheld = try members.decodeIfPresent(Bool.self, forKey: .withheld)
        startedOperations = try members.decode([Int].self, forKey: .startedOperations)
    }

    package func encode(to encoder: any Encoder) throws {
        try summary.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(events, forKey: .events)
        try members.encode(eventsOmitted, forKey: .eventsOmitted)
        try members.encode(runs, forKey: .runs)
        try members.encodeIfPresent(output, forKey: .output)
        try members.encodeIfPresent(outputBase64, forKey: .outputBase64)
        try members.encodeIfPresent(outputCut, forKey: .outputCut)
        try members.encodeIfPresent(outputBytes, forKey: .outputBytes)
        try members.encodeIfPresent(withheld, forKey: .withheld)
        try members.encode(startedOperations, forKey: .startedOperations)
    }
}
