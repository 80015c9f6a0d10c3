import Testing

/// `@Suite(.capturesFailures)`: a test that fails leaves what its hosts and controllers said to each other, where
/// LATCH_TEST_CAPTURE says. Each issue then says which files. Every suite that makes a ``World`` or an ``SharedAir`` has it.
package struct CapturesFailures: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let scope = CaptureScope(try CaptureDirectory.requested?.get(), test: CaptureScope.name(of: test))
        let watch = IssueHandlingTrait.compactMapIssues { issue in
            // One that is known is no failure.
            guard issue.isFailure, let files = scope.noteIssue() else { return issue }
            var issue = issue
            issue.comments.append("Captured: \(files)")
            return issue
        }
        try await watch.provideScope(for: test, testCase: testCase) {
            try await CaptureScope.$current.withValue(scope) {
                do { try await function() } catch {
                    // `#require` has recorded an issue already; any other error becomes one later.
                    if !(error is ExpectationFailedError), let files = scope.noteError() {
                        print("\(CaptureScope.name(of: test)): captured: \(files)")
                    }
                    try scope.finish()
                    throw error
                }
                try scope.finish()
            }
        }
    }
}

extension Trait where Self == CapturesFailures {
    package static var capturesFailures: Self { Self() }
}
