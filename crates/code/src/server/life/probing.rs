//! Asks the readiness probes concurrently with other work of the server.

use std::time::Instant;

use tokio::sync::oneshot;

use super::super::canary::{Chosen, ask, choose};
use super::super::{Canary, Certainty, Document};
use super::{LONGEST_PAUSE, Life};

/// Results of the readiness probes.
pub(super) struct ProbeOutcome {
    chosen: Chosen,
    canary: Canary,
}

impl Life<'_> {
    /// Asks the probes in a separate task.
    pub(super) fn start_probe(&mut self) {
        let (reply, probing) = oneshot::channel();
        self.probing = Some(probing);
        let known = std::mem::take(&mut self.probes);
        let (root, family) = (self.actor.start.root.clone(), self.actor.start.profile.family.clone());
        // Certain uses may have changed: the probes are chosen again when their files change.
        tokio::spawn(async move {
            let chosen = tokio::task::spawn_blocking(move || {
                let mut documents = known.iter().flat_map(|probe| &probe.documents);
                let is_known = !known.is_empty() && documents.all(Document::is_on_disk);
                if is_known { Chosen { probes: known, any: None } } else { choose(&root, &family) }
            });
            // The receiver is gone if the server started to load again.
            let _ = reply.send(chosen.await.ok().map(|chosen| ProbeOutcome { chosen, canary: Canary::None }));
        });
    }

    /// Handles chosen or answered probes.
    pub(super) async fn finish_probe(&mut self, outcome: Option<ProbeOutcome>) {
        self.probing = None;
        let Some(ProbeOutcome { chosen, canary }) = outcome else {
            self.probe_later();
            return self.look();
        };
        let is_chosen_only = canary == Canary::None && !chosen.probes.is_empty();
        self.probes = chosen.probes;
        if !is_chosen_only {
            if let Some(any) = chosen.any.filter(|_| self.announces && !self.signals.has_begun()) {
                self.bring(&[any]).await;
            }
            let agrees = !matches!(canary, Canary::Lacks(_));
            if canary == Canary::None {
                self.settled = Certainty::new(false);
            }
            self.canary = Some(canary);
            if !agrees {
                self.probe_later();
            }
            return self.look();
        }
        let documents: Vec<Document> = self.probes.iter().flat_map(|probe| probe.documents.clone()).collect();
        if !documents.iter().all(Document::is_on_disk) {
            // A question may have opened newer texts.
            self.probe_later();
            return self.look();
        }
        self.bring(&documents).await;
        let (client, encoding, probes) = (self.client.clone(), self.encoding, self.probes.clone());
        let within = self.actor.start.timing.request;
        let (reply, probing) = oneshot::channel();
        self.probing = Some(probing);
        tokio::spawn(async move {
            let canary = ask(&client, encoding, &probes, within).await;
            let _ = reply.send(Some(ProbeOutcome { chosen: Chosen { probes, any: None }, canary }));
        });
    }

    /// Runs here rather than in a task, because the next question sends the same documents. If the server has ended, that is noticed elsewhere.
    async fn bring(&mut self, documents: &[Document]) {
        for (method, params) in self.documents.bring(documents) {
            let _ = self.tell(method, params).await;
        }
    }

    fn probe_later(&mut self) {
        self.probe_at = Some(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    pub(super) fn probe_soon(&mut self) {
        if self.says_ready_since.is_some() && self.probing.is_none() {
            self.probe_at = Some(Instant::now());
        }
    }
}

pub(super) async fn probe_outcome(
    probing: &mut Option<oneshot::Receiver<Option<ProbeOutcome>>>,
) -> Option<ProbeOutcome> {
    match probing {
        Some(probing) => probing.await.ok().flatten(),
        None => std::future::pending().await,
    }
}
