import ControlInterface

extension Verb {
    static let explain = Verb(
        name: "explain", operands: "NAME|ID|PATH", operandCount: 1...1, firstPath: 0,
        summary: "say why an operation, source, queue, handler, group or semaphore stands where it stands",
        notes: [
            "Of a path, which begins with /, ./ or ../ and need not exist, it says which sources see it, why others do not,",
            "and what became of its last events. It may be written as watchctl prints it: \\xHH for a byte, \\\\ for a",
            "backslash. Of one bare name a handler comes before its source, and all else before both.",
        ]
    ) { (invocation, session) throws(Failure) in
        let (target, bytes) = (invocation.operands[0], invocation.operandBytes[0])
        let isPath = ["/", "./", "../"].contains { target.hasPrefix($0) } || target == "." || target == ".."
        guard isPath || String(validating: bytes, as: UTF8.self) != nil else { throw .isNoText }
        let parameters =
            try isPath
            ? Explain.Parameters(path: PathArgument.path(bytes))
            : Int(target).map { Explain.Parameters(id: $0) } ?? Explain.Parameters(name: target)
        try session.show(Explain.self, parameters) { ExplainScreen(explanation: $0, screen: session.screen).lines }
        return .done
    }
}
