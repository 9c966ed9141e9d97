// Choosing an image: a sample, a file, the clipboard or the camera.

import { useEffect, useRef, useState } from "preact/hooks";
import { addImage, kSamples, ownImages } from "../images";
import { useTexts } from "../i18n";

export function ImageInput(props: {
  chosen: string;
  onChoose: (key: string) => void;
  /** Whether an image pasted into the page belongs here. */
  pastes: boolean;
}) {
  const texts = useTexts();
  const { t } = texts;
  const [problem, setProblem] = useState("");
  const [camera, setCamera] = useState<MediaStream | null>(null);
  const file = useRef<HTMLInputElement>(null);

  const take = async (blob: Blob | null | undefined) => {
    if (!blob) return;
    try {
      const { key } = await addImage(blob);
      setProblem("");
      props.onChoose(key);
    } catch {
      const name = blob instanceof File ? blob.name : t("image.data");
      setProblem(t("image.broken", { name }));
    }
  };
  useEffect(() => {
    if (!props.pastes) return;
    const paste = (e: ClipboardEvent) => void take(e.clipboardData?.files[0]);
    const drop = (e: DragEvent) => {
      if (e.defaultPrevented || !e.dataTransfer?.files.length) return;
      e.preventDefault();
      void take(e.dataTransfer.files[0]);
    };
    const over = (e: DragEvent) => e.preventDefault();
    addEventListener("paste", paste);
    addEventListener("drop", drop);
    addEventListener("dragover", over);
    return () => {
      removeEventListener("paste", paste);
      removeEventListener("drop", drop);
      removeEventListener("dragover", over);
    };
  }, [props.pastes, props.onChoose]);

  const openCamera = async () => {
    try {
      setCamera(await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } }));
      setProblem("");
    } catch {
      setProblem(t("image.no_camera"));
    }
  };
  return (
    <div
      class="imageinput"
      onDrop={(e) => {
        e.preventDefault();
        void take(e.dataTransfer?.files[0]);
      }}
      onDragOver={(e) => e.preventDefault()}
    >
      <div class="samples" role="group" aria-label={t("image.choose")}>
        {Object.entries(kSamples).map(([key, url]) => (
          <button
            type="button"
            key={key}
            class="sample"
            aria-pressed={props.chosen === key}
            aria-label={texts.named("sample", key)}
            title={texts.named("sample", key)}
            onClick={() => props.onChoose(key)}
          >
            <img src={url} alt="" width="40" height="40" />
          </button>
        ))}
        {ownImages().map((image, i) => (
          <button
            type="button"
            key={image.key}
            class="sample"
            aria-pressed={props.chosen === image.key}
            aria-label={t("image.own", { n: i + 1 })}
            title={t("image.own", { n: i + 1 })}
            onClick={() => props.onChoose(image.key)}
          >
            <Thumbnail bitmap={image.bitmap} />
          </button>
        ))}
      </div>
      <div class="sources">
        <button type="button" onClick={() => file.current!.click()}>
          {t("image.open")}
        </button>
        <button type="button" onClick={openCamera}>
          {t("image.camera")}
        </button>
        <span class="hint">{t("image.hint")}</span>
        <input
          ref={file}
          type="file"
          accept="image/*"
          hidden
          onChange={(e) => {
            void take(e.currentTarget.files?.[0]);
            e.currentTarget.value = "";
          }}
        />
      </div>
      {problem && (
        <p class="notice problem" role="alert">
          {problem}
        </p>
      )}
      {camera && <Camera stream={camera} onTake={take} onClose={() => setCamera(null)} />}
    </div>
  );
}

function Thumbnail({ bitmap }: { bitmap: ImageBitmap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const side = Math.min(bitmap.width, bitmap.height);
    const x = (bitmap.width - side) / 2;
    const y = (bitmap.height - side) / 2;
    canvas.current!.getContext("2d")!.drawImage(bitmap, x, y, side, side, 0, 0, 80, 80);
  }, [bitmap]);
  return <canvas ref={canvas} width={80} height={80} aria-hidden="true" />;
}

function Camera(props: {
  stream: MediaStream;
  onTake: (blob: Blob | null) => void;
  onClose: () => void;
}) {
  const { t } = useTexts();
  const video = useRef<HTMLVideoElement>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    video.current!.srcObject = props.stream;
    void video.current!.play();
    dialog.current!.showModal();
    return () => props.stream.getTracks().forEach((track) => track.stop());
  }, [props.stream]);
  const take = () => {
    const canvas = document.createElement("canvas");
    canvas.width = video.current!.videoWidth;
    canvas.height = video.current!.videoHeight;
    canvas.getContext("2d")!.drawImage(video.current!, 0, 0);
    canvas.toBlob(props.onTake, "image/png");
    props.onClose();
  };
  return (
    <dialog ref={dialog} onClose={props.onClose} aria-label={t("image.camera")}>
      <video ref={video} playsInline muted />
      <div class="actions">
        <button type="button" onClick={props.onClose}>
          {t("cancel")}
        </button>
        <button type="button" class="primary" onClick={take}>
          {t("image.take")}
        </button>
      </div>
    </dialog>
  );
}
