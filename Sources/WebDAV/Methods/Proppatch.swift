internal import DirectoryRoot
internal import ServerCore

extension DAVRequest {
    /// Sets and removes properties in document order, all or none: a 207 that names the property that failed.
    ///
    /// RFC 4918 §9.2.
    func proppatch() async throws -> Response {
        // A listing holds a property one element deeper than the request.
        let root = try root(of: try await body(), maxDepth: XMLBounds.maxDepth - 1)
        let prefer = Prefer(of: request)
        return try await onDiskIfConditionsHold(needsTarget: true) { share in
            let target = try share.attributes(of: path)
            let update = try PropertyUpdate(root, of: target)
            if update.refusals.isEmpty { try apply(update, to: target, in: share) }
            var fields: ResponseFields = ["Content-Type": xmlMediaType]
            prefer.note(in: &fields)
            if prefer.isMinimal, update.refusals.isEmpty {
                fields["Content-Type"] = nil
                return Response(.ok, fields: fields)
            }
            return Response(.multiStatus, fields: fields, body: .bytes(answer(update, isDirectory: target.isDirectory)))
        }
    }

    /// Applies times first, since they can be restored, and checksums last, since they belong to the content with the
    /// new time.
    private func apply(_ update: PropertyUpdate, to target: FileAttributes, in share: Share) throws {
        var share = share
        let setsTimes = update.modified != nil || update.accessed != nil
        if setsTimes {
            try share.setTimes(of: path, modified: update.modified, accessed: update.accessed)
            // The entity tag that a condition may name has just been changed by this request itself.
            share.precondition = nil
        }
        if !update.changes.isEmpty {
            do {
                try share.updateProperties(of: path, update.changes)
            } catch {
                if setsTimes { try share.setTimes(of: path, modified: target.modified, accessed: target.accessed) }
                throw error
            }
        }
        if !update.checksums.isEmpty {
            let current = try share.attributes(of: path)
            try share.updateChecksums(of: path, update.checksums, for: current.entityTag)
        }
    }

    private func answer(_ update: PropertyUpdate, isDirectory: Bool) -> [UInt8] {
        var xml = XMLWriter(capacity: 1024)
        xml.append(MultiStatusWriter.begin)
        xml.append("<D:response>")
        xml.appendHref(Place(request.spelledPath, isDirectory: isDirectory), prefix: Array(request.prefix.utf8))
        if update.refusals.isEmpty {
            appendPropstat(update.names, .ok, to: &xml)
        } else {
            var done: Set<Status> = []
            // A property that is refused twice is reported once. RFC 4918 §14.24
            var refused: Set<PropertyName> = []
            for refusal in update.refusals where done.insert(refusal.status).inserted {
                let names = update.refusals.filter { $0.status == refusal.status }.map(\.name)
                    .filter { refused.insert($0).inserted }
                if !names.isEmpty { appendPropstat(names, refusal.status, to: &xml) }
            }
            let others = update.names.filter { !refused.contains($0) }
            if !others.isEmpty { appendPropstat(others, .failedDependency, to: &xml) }
        }
        xml.append("</D:response>")
        xml.append(MultiStatusWriter.end)
        return xml.take()
    }

    private func appendPropstat(_ names: [PropertyName], _ status: Status, to xml: inout XMLWriter) {
        xml.append("<D:propstat><D:prop>")
        for name in names { xml.append(bytes: PropertySelection.emptyElement(name)) }
        xml.append("</D:prop>")
        xml.appendStatus(status)
        if status == .forbidden { xml.append("<D:error><D:cannot-modify-protected-property/></D:error>") }
        xml.append("</D:propstat>")
    }
}
