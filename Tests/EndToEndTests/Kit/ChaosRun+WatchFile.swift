import ProgramKit

/// What the daemon of a chaos run is to do: every handler notes in `ledger` what it is told, by one `write`.
extension ChaosRun {
    static let queues = ["line", "wide", "pipes", "plain"]

    static let text = """
        [Queue line]
        Durable=yes
        Backlog=300
        [Queue wide]
        Type=concurrent
        Width=4
        Durable=yes
        Backlog=300
        [Queue pipes]
        Durable=yes
        Backlog=300
        [Queue plain]
        Type=concurrent
        Width=2
        Backlog=300
        [Custom line]
        Handler=line
        Queue=line
        Key=none
        Coalesce=no
        [Custom flaky]
        Handler=flaky
        Queue=wide
        Key=none
        Coalesce=no
        [Custom merged]
        Handler=merged
        Queue=wide
        [Custom plain]
        Handler=plain
        Queue=plain
        Key=none
        Coalesce=no
        [Descriptor pipe]
        ListenFIFO=@/pipe
        Handler=pipe
        Queue=pipes
        [Descriptor lost]
        ListenFIFO=@/lost
        Handler=lost
        Queue=plain
        [Path in]
        Path=@/in
        Key=%p
        Handler=in
        Queue=wide
        [Signal on]
        Signal=RTMIN+1
        Handler=on
        Queue=line
        [Timer tick]
        EverySec=100ms
        Handler=tick
        Queue=plain
        [Handler line]
        Exec=@/bin/cat
        Exec=@/bin/sleep 0.005
        StandardOutput=append:@/ledger
        [Handler flaky]
        Exec=@/bin/cat
        Exec=@/bin/sleep 0.02
        Exec=@/flaky
        StandardOutput=append:@/ledger
        Retry=20
        RetrySec=20ms

        """
        + ["merged", "plain", "pipe", "lost", "in", "on", "tick"].map { handler in
            "[Handler \(handler)]\nExec=@/bin/cat\nStandardOutput=append:@/ledger\n"
        }.joined()

    /// Fails two of three first attempts, and some later ones.
    private static let flaky = """
        #!/bin/sh
        [ $(((WATCHD_OPERATION + WATCHD_ATTEMPT) % 3)) -eq 0 ]

        """

    static func prepare(_ folder: Folder) throws {
        try folder.makeFolder("in")
        try folder.write("flaky", flaky, mode: 0o755)
    }
}
